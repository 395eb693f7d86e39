import { Agent, request } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { parentPort, Worker, workerData } from 'node:worker_threads';

const PROBE_INTERVAL_MS = 5;

/** Polls the liveness of a process on a thread of its own, unaffected by other work. */
export class Prober {
  private constructor(private readonly worker: Worker) {}

  static start(url: string): Prober {
    return new Prober(new Worker(__filename, { workerData: url }));
  }

  /** Response times since the previous call. */
  takeTimes(): Promise<number[]> {
    return new Promise((resolve) => {
      this.worker.once('message', resolve);
      this.worker.postMessage('look');
    });
  }

  async stop(): Promise<void> {
    await this.worker.terminate();
  }
}

async function keepProbing(url: string): Promise<void> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  let waits: number[] = [];
  parentPort?.on('message', () => {
    parentPort?.postMessage(waits);
    waits = [];
  });
  for (;;) {
    waits.push(await timeToAnswer(url, agent));
    await delay(PROBE_INTERVAL_MS);
  }
}

function timeToAnswer(url: string, agent: Agent): Promise<number> {
  return new Promise((resolve, reject) => {
    const startedAt = performance.now();
    const probe = request(`${url}/health/live`, { agent }, (response) => {
      response.resume().on('end', () => resolve(performance.now() - startedAt));
    });
    probe.on('error', reject).end();
  });
}

if (parentPort !== null && typeof workerData === 'string') void keepProbing(workerData);
