import { type SimulatorServer, startSimulatorServer } from '../../simulator/server';
import { type Region, regions, type SupplierSite } from './world';

/** Number of connections, counted at the socket, and of requests of a simulator. */
export interface SimulatorTraffic {
  readonly connections: number;
  readonly requests: number;
}

/** Six simulators, two per region, each with its own connection counter. */
export class RegionSuppliers {
  private constructor(
    readonly sites: readonly SupplierSite[],
    private readonly servers: readonly SimulatorServer[],
  ) {}

  static async start(seed: number): Promise<RegionSuppliers> {
    const servers: SimulatorServer[] = [];
    const sites: SupplierSite[] = [];
    for (const region of regions) {
      for (const name of [`${region}-1`, `${region}-2`]) {
        const server = await startSimulatorServer({
          name,
          region,
          seed: seed + servers.length,
          ringSize: 10,
        });
        servers.push(server);
        sites.push({ name, region, url: server.url });
      }
    }
    return new RegionSuppliers(sites, servers);
  }

  async addFaults(): Promise<void> {
    const rules = [
      { match: { probability: 0.1 }, fault: { kind: 'status', status: 500 } },
      { match: { probability: 0.03 }, fault: { kind: 'status', status: 429 } },
      { match: { probability: 0.05 }, fault: { kind: 'reset' } },
      { match: { probability: 0.06 }, fault: { kind: 'cut', after: 7 } },
      { match: { probability: 0.05 }, fault: { kind: 'delay', ms: 5, untilMs: 60 } },
      { match: { probability: 0.05 }, fault: { kind: 'slow-first-token', ms: 40 } },
    ];
    for (const { controlUrl } of this.servers) {
      for (const rule of rules) await control(controlUrl, 'POST', '/faults', rule);
    }
  }

  /** Refuses connections until the faults are cleared. */
  async refuse(name: string): Promise<void> {
    const index = this.sites.findIndex((site) => site.name === name);
    const rule = { match: { lane: name }, fault: { kind: 'refuse' } };
    await control(this.servers[index]?.controlUrl ?? '', 'POST', '/faults', rule);
  }

  async clearFaults(): Promise<void> {
    for (const { controlUrl } of this.servers) await control(controlUrl, 'DELETE', '/faults');
  }

  async traffic(): Promise<SimulatorTraffic[]> {
    return Promise.all(
      this.servers.map(async ({ controlUrl }) => {
        const stats = await control<{ connections: number; total: number }>(controlUrl, 'GET', '/stats');
        return { connections: stats.connections, requests: stats.total };
      }),
    );
  }

  /** Total traffic of the sites outside the regions since then. */
  async trafficOutside(
    within: ReadonlySet<Region>,
    before: readonly SimulatorTraffic[],
  ): Promise<SimulatorTraffic> {
    const now = await this.traffic();
    const sum = { connections: 0, requests: 0 };
    for (const [place, { region }] of this.sites.entries()) {
      if (within.has(region)) continue;
      sum.connections += (now[place]?.connections ?? 0) - (before[place]?.connections ?? 0);
      sum.requests += (now[place]?.requests ?? 0) - (before[place]?.requests ?? 0);
    }
    return sum;
  }

  async stop(): Promise<void> {
    await Promise.all(this.servers.map((server) => server.stop()));
  }
}

async function control<Answer>(url: string, method: string, path: string, body?: object): Promise<Answer> {
  const answer = await fetch(url + path, {
    method,
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  if (!answer.ok) throw new Error(`${method} ${path}: ${await answer.text()}`);
  return (await answer.json()) as Answer;
}
