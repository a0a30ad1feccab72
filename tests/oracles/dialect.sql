-- Functions on values that carry their type in the first letter: i whole number, f float, b bool, s symbol.
CREATE MACRO whole(v) AS TRY_CAST(substr(v, 2) AS HUGEINT);
CREATE MACRO num(v) AS TRY_CAST(substr(v, 2) AS DOUBLE);
CREATE MACRO is_whole(v) AS v[1] = 'i';
CREATE MACRO text_of(v) AS substr(v, 2);

CREATE MACRO less(v, w) AS CASE WHEN v[1] = 's' THEN text_of(v) < text_of(w) ELSE num(v) < num(w) END;
CREATE MACRO less_or_equal(v, w) AS CASE WHEN v[1] = 's' THEN text_of(v) <= text_of(w) ELSE num(v) <= num(w) END;

CREATE MACRO of_number(v, w, if_whole, if_not) AS
    CASE WHEN is_whole(v) AND is_whole(w) THEN 'i' || if_whole::VARCHAR ELSE 'f' || if_not::DOUBLE::VARCHAR END;
CREATE MACRO plus(v, w) AS of_number(v, w, whole(v) + whole(w), num(v) + num(w));
CREATE MACRO minus(v, w) AS of_number(v, w, whole(v) - whole(w), num(v) - num(w));
CREATE MACRO times(v, w) AS of_number(v, w, whole(v) * whole(w), num(v) * num(w));
CREATE MACRO quotient(v, w) AS of_number(v, w, whole(v)::BIGINT // whole(w)::BIGINT, num(v) / num(w));
CREATE MACRO remainder(v, w) AS of_number(v, w, whole(v)::BIGINT % whole(w)::BIGINT, num(v) % num(w));
CREATE MACRO power(v, w) AS of_number(v, w, (num(v) ** num(w))::HUGEINT, num(v) ** num(w));
CREATE MACRO negative(v) AS minus('i0', v);
CREATE MACRO size(v) AS CASE WHEN num(v) < 0 THEN negative(v) ELSE v END;
CREATE MACRO lesser(v, w) AS CASE WHEN less(w, v) THEN w ELSE v END;
CREATE MACRO greater(v, w) AS CASE WHEN less(v, w) THEN w ELSE v END;

CREATE MACRO joined(v, w) AS 's' || text_of(v) || text_of(w);
CREATE MACRO length_of(v) AS 'i' || length(text_of(v))::VARCHAR;
CREATE MACRO part_of(v, first, size) AS 's' || substring(text_of(v), whole(first)::BIGINT + 1, whole(size)::BIGINT);
CREATE MACRO matches(pattern, v) AS regexp_full_match(text_of(v), text_of(pattern));
CREATE MACRO holds(part, v) AS contains(text_of(v), text_of(part));

CREATE MACRO agg_count(v) AS 'i' || count(v)::VARCHAR;
CREATE MACRO agg_sum(v) AS CASE WHEN coalesce(bool_and(is_whole(v)), true)
    THEN 'i' || coalesce(sum(whole(v)), 0)::HUGEINT::VARCHAR ELSE 'f' || sum(num(v))::VARCHAR END;
CREATE MACRO agg_min(v) AS CASE WHEN bool_and(v[1] = 's') THEN min(v) ELSE arg_min(v, num(v)) END;
CREATE MACRO agg_max(v) AS CASE WHEN bool_and(v[1] = 's') THEN max(v) ELSE arg_max(v, num(v)) END;
CREATE MACRO agg_mean(v) AS 'f' || avg(num(v))::VARCHAR;
CREATE MACRO agg_median(v) AS 'f' || median(num(v))::VARCHAR;
