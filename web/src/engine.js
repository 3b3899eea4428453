// The worker behind functions: a question, its answer, and a new worker if one does not come back.

export class Refused extends Error {
  constructor(errors) {
    super(errors.map((error) => `${error.code}: ${error.message}`).join('\n'))
    this.errors = errors
  }
}

export class Failed extends Error {}

export class Engine {
  /** `changed` is told what the worker is doing: text while it starts, null when it is ready, an Error if it cannot. */
  constructor(changed) {
    this.changed = changed
    this.waiting = new Map()
    this.last = 0
    this.start()
  }

  start() {
    this.worker = new Worker('worker.js', { type: 'module' })
    this.worker.onmessage = ({ data }) => this.receive(data)
    this.worker.onerror = (event) => this.changed(new Error(event.message || 'the worker cannot be loaded'))
  }

  receive(data) {
    if ('stage' in data) return this.changed(data.stage)
    if (data.failed) return this.changed(new Error(data.failed))
    const asked = this.waiting.get(data.id)
    if (!asked) return undefined
    this.waiting.delete(data.id)
    if (data.broken) {
      this.restart()
      return asked.reject(new Failed(`netcalc needed more memory than the browser gives: ${data.broken}`))
    }
    const answer = JSON.parse(data.answer)
    if (answer.errors) return asked.reject(new Refused(answer.errors))
    if (answer.failure) {
      console.error(answer.trace)
      return asked.reject(new Failed(answer.failure))
    }
    return asked.resolve(answer.result)
  }

  ask(method, parameters = {}, files = undefined) {
    const id = (this.last += 1)
    return new Promise((resolve, reject) => {
      this.waiting.set(id, { resolve, reject })
      this.worker.postMessage({ id, method, parameters, files })
    })
  }

  /** End what is computed; all that waits is refused. */
  restart() {
    this.worker.terminate()
    const waiting = [...this.waiting.values()]
    this.waiting.clear()
    this.start()
    for (const each of waiting) each.reject(new Failed('stopped'))
  }
}
