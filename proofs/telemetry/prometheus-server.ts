import { cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { stringify } from 'yaml';
import { freePort } from '../../test/system/free-port';
import { Program } from '../../test/system/program';
import { RULES } from './promtool';

/** An increase is seen from the second one on. */
const SCRAPES = 3;
const KNOWN_MS = 30_000;
const SHOWN_SECONDS = 60;

/** A result of the HTTP API, of which a count is all that is asked here. */
interface QueryAnswer {
  readonly status: 'success' | 'error';
  readonly error?: string;
  readonly data?: { readonly result: readonly unknown[] };
}

interface RulesAnswer {
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

interface AlertsAnswer {
  readonly data: {
    readonly alerts: readonly { readonly state: string; readonly labels: { alertname: string } }[];
  };
}

/** A real Prometheus on loopback that scrapes every second, with the rules of the project. */
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
    // An alert has to last for some seconds instead of minutes.
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

  /** These nodes, and no others, from the next second on. */
  scrape(metricsUrls: readonly string[]): void {
    const hosts = metricsUrls.map((url) => new URL(url).host);
    writeFileSync(this.targets, JSON.stringify([{ targets: hosts }]));
  }

  /** Several scrapes know how the node was. */
  async knows(metricsUrl: string): Promise<void> {
    const known = `count_over_time(gateway_ready{instance="${new URL(metricsUrl).host}"}[1m]) >= ${SCRAPES}`;
    for (let waited = 0; (await this.count(known)) === 0; waited += 500) {
      if (waited > KNOWN_MS) throw new Error(`${metricsUrl} is not scraped`);
      await delay(500);
    }
  }

  /** The number of series that a query had in the last minute, as a panel shows it; an error is thrown. */
  async count(expr: string): Promise<number> {
    const now = Date.now() / 1_000;
    const span = `start=${now - SHOWN_SECONDS}&end=${now}&step=1`;
    const answer = await this.get<QueryAnswer>(`query_range?${span}&query=${encodeURIComponent(expr)}`);
    if (answer.status === 'error') throw new Error(`${expr}: ${answer.error}`);
    return answer.data?.result.length ?? 0;
  }

  async metricNames(): Promise<Set<string>> {
    const { data } = await this.get<{ data: string[] }>('label/__name__/values');
    return new Set(data);
  }

  /** Rules that could not be evaluated, with the reason. */
  async brokenRules(): Promise<string[]> {
    const { data } = await this.get<RulesAnswer>('rules');
    const all = data.groups.flatMap(({ rules }) => rules);
    return all
      .filter(({ health }) => health !== 'ok')
      .map(({ name, lastError }) => `${name}: ${lastError ?? '?'}`);
  }

  async firing(): Promise<Set<string>> {
    const { data } = await this.get<AlertsAnswer>('alerts');
    const firing = data.alerts.filter(({ state }) => state === 'firing');
    return new Set(firing.map(({ labels }) => labels.alertname));
  }

  /** Answers those that did not fire in time. */
  async missing(alerts: readonly string[], withinMs: number): Promise<string[]> {
    const seen = new Set<string>();
    for (const until = performance.now() + withinMs; performance.now() < until; await delay(500)) {
      for (const name of await this.firing()) seen.add(name);
      if (alerts.every((name) => seen.has(name))) return [];
    }
    return alerts.filter((name) => !seen.has(name));
  }

  /** Answers those that still fire after that time. */
  async lasting(alerts: readonly string[], withinMs: number): Promise<string[]> {
    for (const until = performance.now() + withinMs; ; await delay(500)) {
      const firing = await this.firing();
      const left = alerts.filter((name) => firing.has(name));
      if (left.length === 0 || performance.now() >= until) return left;
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
