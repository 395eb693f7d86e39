import { mkdirSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { loadSettings, Logger, Mailer } from '#product/platform';
import { Queue } from '#inside/platform/queue/index';
import { QueueConnection } from '#inside/platform/queue/queue-connection';
import { freePort } from '../../test/system/free-port';
import { Program } from '../../test/system/program';
import { spawnRedis } from '../../test/system/redis-server';
import { catalogueOf, longStreamShot, mixedShot, plainShot, SLOW } from '../outages/catalogue';
import { callAndDisconnect } from '../outages/disconnecting-caller';
import { call, Load, type Shot } from '../outages/load';
import { type GatewayProcess, OutageTestbed } from '../outages/testbed';

/** A model with a lane that fails at first and a fallback. */
const FAILOVER_MODEL = 'double';
const CALLS_PER_SECOND = 20;

/** Two nodes: the testbed's own, whose queue is in PostgreSQL, and one with Redis, a tap and a gate. */
export class TelemetryTestbed {
  private load: Load | undefined;

  private constructor(
    readonly testbed: OutageTestbed,
    readonly node: GatewayProcess,
    readonly redis: Program,
  ) {}

  static async open(): Promise<TelemetryTestbed> {
    const testbed = await OutageTestbed.open();
    try {
      const { folder } = testbed.postgres;
      mkdirSync(join(folder, 'redis'));
      const { program, url } = await spawnRedis(join(folder, 'redis'));
      const unusedPort = await freePort();
      const environment = {
        REDIS_URL: url,
        RECORDS_FILE: join(folder, 'records.jsonl'),
        HTTP_GATES: `absent=http://127.0.0.1:${unusedPort}/#timeout=200ms&onError=open`,
        HTTP_GATE_SECRETS: `absent=whsec_${Buffer.alloc(32, 7).toString('base64')}`,
        WORKERS: 'inline',
      };
      const node = await testbed.startNode('watched', { environment });
      const scene = new TelemetryTestbed(testbed, node, program);
      await scene.addModel();
      return scene;
    } catch (error) {
      await testbed.close();
      throw error;
    }
  }

  get metricsUrls(): string[] {
    return [this.testbed.shared.metricsUrl, this.node.metricsUrl];
  }

  /** Calls every dialect and supplier, streaming and not, on both nodes, until `rest` is called. */
  startLoad(): void {
    const endpoints = [this.testbed.shared, this.node].map((node) => node.endpoint(this.testbed.key));
    this.load = new Load(endpoints, usualShot).start(CALLS_PER_SECOND);
  }

  async stopLoad(): Promise<void> {
    await this.load?.stop();
  }

  /** Causes the failures of a usual day, each of which changes a metric. */
  async causeFailures(): Promise<void> {
    const { testbed, node } = this;
    const endpoint = node.endpoint(testbed.key);
    const fail = (status: number): Promise<() => Promise<void>> =>
      testbed.slow.fault({ match: { model: `sim-${SLOW}` }, fault: { kind: 'status', status } });
    for (const status of [503, 401]) {
      const repair = await fail(status);
      for (let index = 0; index < 4; index += 1) {
        await call(endpoint, plainShot(FAILOVER_MODEL, index));
        await call(endpoint, plainShot(SLOW, index));
        await delay(500);
      }
      await repair();
    }
    for (let index = 0; index < 8; index += 1) {
      await call(endpoint, plainShot('there-is-no-such-model', index));
      await sendInvalidHttp(node.url);
      await delay(300);
    }
    for (let index = 0; index < 4; index += 1) {
      await callAndDisconnect(endpoint, longStreamShot(index, 5), { ms: 300 });
      await sendMalformed(node.url, testbed.key);
    }
    // The lane is probed once a second and recovers.
    for (let index = 0; index < 5; index += 1) {
      await call(endpoint, plainShot(SLOW, index));
      await delay(1_000);
    }
    await this.queueMail();
  }

  async close(): Promise<void> {
    await this.stopLoad();
    await this.testbed.close();
    this.redis.signal('SIGCONT');
    await this.redis.stop();
  }

  private async addModel(): Promise<void> {
    const { testbed } = this;
    const { steady, slow, shared } = testbed;
    const catalogue = JSON.parse(catalogueOf({ steady: steady.url, slow: slow.url })) as {
      models: Record<string, object>;
    };
    const lane = (provider: string, name: string): object => ({
      provider,
      model: `sim-${name}`,
      region: 'here',
    });
    catalogue.models[FAILOVER_MODEL] = {
      max_output_tokens: 4_000,
      price: { input: 1, output: 2 },
      lanes: [lane(SLOW, SLOW), lane('chatty', 'chatty')],
    };
    const file = join(shared.dataFolder, 'telemetry.yaml');
    writeFileSync(file, JSON.stringify(catalogue));
    const apply = Program.node('bundle/cli.js', ['apply', file, '--yes'], shared.environment);
    if ((await apply.ended) !== 0) throw new Error(`the catalogue was refused: ${apply.text}`);
  }

  /** No mail server listens there, so the mail waits in the queue of the testbed's node. */
  private async queueMail(): Promise<void> {
    const settings = loadSettings({ NODE_ENV: 'test', DATA_FOLDER: this.testbed.shared.dataFolder });
    const logger = Logger.create(settings, { write: () => undefined });
    const { connection, close } = QueueConnection.toPostgres(this.testbed.postgres.url, 3, logger);
    const queue = new Queue('mail', { connection });
    await new Mailer(queue).send({ to: 'person@example.com', subject: 'A subject', text: 'A text' });
    await queue.close();
    await close();
  }
}

const usualShot = (index: number): Shot => (index % 10 === 9 ? plainShot(SLOW, index) : mixedShot(index));

async function sendMalformed(url: string, key: string): Promise<void> {
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
  const answer = await fetch(`${url}/v1/chat/completions`, { method: 'POST', headers, body: '{"model":1}' });
  await answer.arrayBuffer();
}

function sendInvalidHttp(url: string): Promise<void> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve) => {
    const socket = connect(Number(port), hostname, () => socket.write('this is no HTTP\r\n\r\n'));
    socket
      .resume()
      .on('error', () => undefined)
      .once('close', () => resolve());
  });
}
