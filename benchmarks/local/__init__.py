"""The local backend beside other engines: initial materialisation, small updates, memory."""
