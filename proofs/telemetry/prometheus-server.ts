import { cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { stringify } from 'yaml';
import { freePort } from '../../test/system/free-port';
import { Program } from '../../test/system/program';
import { RULES } from './promtool';

/** An increase is visible from the second scrape on. */
const MIN_SCRAPES = 3;
const SCRAPE_POLL_MS = 30_000;
const SHOWN_SECONDS = 60;

/** A result of the HTTP API, of which only the count is used. */
interface QueryResponse {
  readonly status: 'success' | 'error';
  readonly error?: string;
  readonly data?: { readonly result: readonly unknown[] };
}

interface RulesResponse {
  readonly data: {
    readonly groups: readonly {
      readonly rules: readonly {
        readonly name: string;
        readonly health: string;
        readonly lastError?: string;
      }[];
    }[];
  };
}

interface AlertsResponse {
  readonly data: {
    readonly alerts: readonly { readonly state: string; readonly labels: { alertname: string } }[];
  };
}

/** A real Prometheus on loopback that scrapes every second with the project's rules. */
export class PrometheusServer {
  private constructor(
    private readonly program: Program,
    private readonly url: string,
    private readonly targets: string,
  ) {}

  static async start(folder: string): Promise<PrometheusServer> {
    const rules = join(folder, 'rules');
    mkdirSync(folder, { recursive: true });
    cpSync(RULES, rules, { recursive: true });
    // Alerts need a few seconds instead of minutes.
    for (const file of readdirSync(rules)) {
      const path = join(rules, file);
      writeFileSync(path, readFileSync(path, 'utf8').replaceAll(/^( +for: ).*$/gm, '$12s'));
    }
    const port = await freePort();
    const targets = join(folder, 'targets.json');
    writeFileSync(targets, '[]');
    const configuration = {
      global: { scrape_interval: '1s', scrape_timeout: '1s', evaluation_interval: '1s' },
      rule_files: [join(rules, '*.yml')],
      scrape_configs: [
        { job_name: 'switchboard', file_sd_configs: [{ files: [targets], refresh_interval: '1s' }] },
      ],
    };
    writeFileSync(join(folder, 'prometheus.yml'), stringify(configuration));
    const program = Program.run('prometheus', [
      `--config.file=${join(folder, 'prometheus.yml')}`,
      `--storage.tsdb.path=${join(folder, 'series')}`,
      `--web.listen-address=127.0.0.1:${port}`,
    ]);
    await program.find(/Server is ready to receive web requests/);
    return new PrometheusServer(program, `http://127.0.0.1:${port}`, targets);
  }

  /** Scrapes exactly these nodes from the next second on. */
  scrape(metricsUrls: readonly string[]): void {
    const hosts = metricsUrls.map((url) => new URL(url).host);
    writeFileSync(this.targets, JSON.stringify([{ targets: hosts }]));
  }

  /** Waits until several scrapes have recorded the node. */
  async waitUntilScraped(metricsUrl: string): Promise<void> {
    const query = `count_over_time(gateway_ready{instance="${new URL(metricsUrl).host}"}[1m]) >= ${MIN_SCRAPES}`;
    for (let waited = 0; (await this.count(query)) === 0; waited += 500) {
      if (waited > SCRAPE_POLL_MS) throw new Error(`${metricsUrl} is not scraped`);
      await delay(500);
    }
  }

  /** Number of series that a query returned over the last minute, as on a panel; throws on an error. */
  async count(expr: string): Promise<number> {
    const now = Date.now() / 1_000;
    const span = `start=${now - SHOWN_SECONDS}&end=${now}&step=1`;
    const answer = await this.get<QueryResponse>(`query_range?${span}&query=${encodeURIComponent(expr)}`);
    if (answer.status === 'error') throw new Error(`${expr}: ${answer.error}`);
    return answer.data?.result.length ?? 0;
  }

  async metricNames(): Promise<Set<string>> {
    const { data } = await this.get<{ data: string[] }>('label/__name__/values');
    return new Set(data);
  }

  /** Rules that could not be evaluated, with the reason. */
  async brokenRules(): Promise<string[]> {
    const { data } = await this.get<RulesResponse>('rules');
    const all = data.groups.flatMap(({ rules }) => rules);
    return all
      .filter(({ health }) => health !== 'ok')
      .map(({ name, lastError }) => `${name}: ${lastError ?? '?'}`);
  }

  async firing(): Promise<Set<string>> {
    const { data } = await this.get<AlertsResponse>('alerts');
    const firing = data.alerts.filter(({ state }) => state === 'firing');
    return new Set(firing.map(({ labels }) => labels.alertname));
  }

  /** Returns the alerts that did not fire in time. */
  async missing(alerts: readonly string[], withinMs: number): Promise<string[]> {
    const firedAlerts = new Set<string>();
    for (const deadline = performance.now() + withinMs; performance.now() < deadline; await delay(500)) {
      for (const name of await this.firing()) firedAlerts.add(name);
      if (alerts.every((name) => firedAlerts.has(name))) return [];
    }
    return alerts.filter((name) => !firedAlerts.has(name));
  }

  /** Returns the alerts that still fire after that time. */
  async lasting(alerts: readonly string[], withinMs: number): Promise<string[]> {
    for (const deadline = performance.now() + withinMs; ; await delay(500)) {
      const firing = await this.firing();
      const remainingAlerts = alerts.filter((name) => firing.has(name));
      if (remainingAlerts.length === 0 || performance.now() >= deadline) return remainingAlerts;
    }
  }

  async stop(): Promise<void> {
    await this.program.stop();
  }

  private async get<Answer>(path: string): Promise<Answer> {
    const response = await fetch(`${this.url}/api/v1/${path}`, { signal: AbortSignal.timeout(10_000) });
    return (await response.json()) as Answer;
  }
}
