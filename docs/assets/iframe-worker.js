// Search runs in a worker, and browsers refuse workers to pages that are opened from a file.
// There, a hidden frame does the work: what is posted to it arrives in it as messages, and the other way round.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(address) {
      super()
      const frame = document.createElement("iframe")
      frame.hidden = true
      document.documentElement.appendChild(frame)
      this.waiting = []
      this.inside = frame.contentWindow
      this.inside.postMessage = data => this.dispatchEvent(new MessageEvent("message", { data }))
      this.inside.importScripts = (...all) => Promise.all(all.map(one => this.load(new URL(one, address))))
      this.load(new URL(address, location.href)).then(() => {
        const waiting = this.waiting
        this.waiting = null
        waiting.forEach(data => this.postMessage(data))
      })
    }

    load(address) {
      return new Promise((done, failed) => {
        const script = this.inside.document.createElement("script")
        script.onload = done
        script.onerror = failed
        script.src = address.href
        this.inside.document.body.appendChild(script)
      })
    }

    postMessage(data) {
      if (this.waiting) this.waiting.push(data)
      else this.inside.dispatchEvent(new MessageEvent("message", { data }))
    }

    terminate() {}
  }
}
