import { Injectable } from '@nestjs/common';
import { NO_SUMS, UsageQuery, type UsageSums } from '../../audit';
import { CatalogueService, type CredentialState, CredentialStore } from '../../catalogue';
import { type PeriodName, periodNamed, type Scope, toJsonNumber } from '../../kernel';
import { LaneHealth, type LaneState, SupplierStyles } from '../../routing';
import { type Incident, IncidentLog } from './incidents/incident-log';
import { isByDay } from './periods';
import { type PoolHealth, PoolHealthQuery } from './pool-health';

export interface TrafficFigures {
  readonly requests: number;
  readonly failures: number;
  readonly failovers: number;
  readonly cost_usd: number;
  readonly mean_latency_ms: number | null;
  readonly mean_first_token_ms: number | null;
}

export interface TrafficStep extends TrafficFigures {
  readonly begins: Date;
}

export interface ProviderStanding {
  readonly provider: string;
  readonly style: string;
  readonly visible: boolean;
  /** `not-needed`: none is stored, and calls to this supplier go without one. */
  readonly credential: CredentialState | 'not-needed';
  /** The worst state of its lanes on this node; `unused` where none was called. */
  readonly circuit: LaneState['state'] | 'unused';
  readonly lanes: readonly Pick<LaneState, 'model' | 'region' | 'state'>[];
  readonly pool: Pick<PoolHealth, 'state' | 'pool_size' | 'usable'> | null;
  readonly traffic: TrafficFigures;
}

export interface TrafficAnswer {
  readonly from: Date;
  readonly to: Date;
  readonly total: TrafficFigures;
  /** They go by hours, or by days of the zone over a longer time. */
  readonly steps: readonly TrafficStep[];
  /** Only the platform's administrators see them: the health of suppliers is not an organisation's business. */
  readonly providers: readonly ProviderStanding[] | null;
  readonly incidents: readonly Incident[] | null;
}

const MOST_INCIDENTS = 50;
const MOST_PROVIDERS = 200;
const severity = { closed: 0, 'half-open': 1, open: 2 } as const;

/** The first page of the administration shows requests of a scope, and how suppliers stand. */
@Injectable()
export class Traffic {
  constructor(
    private readonly usage: UsageQuery,
    private readonly catalogue: CatalogueService,
    private readonly credentials: CredentialStore,
    private readonly styles: SupplierStyles,
    private readonly health: LaneHealth,
    private readonly pools: PoolHealthQuery,
    private readonly incidents: IncidentLog,
  ) {}

  async of(
    scope: Scope,
    seesSuppliers: boolean,
    { name, zone }: { readonly name: PeriodName; readonly zone: string },
  ): Promise<TrafficAnswer> {
    const { from, to } = periodNamed(name, zone, Date.now());
    const question = { from, to, bucket: isByDay(name) ? 'day' : 'hour', zone } as const;
    const [answer, incidents, pools] = await Promise.all([
      this.usage.ask(scope, { ...question, groupBy: 'supplier', mostGroups: MOST_PROVIDERS }),
      seesSuppliers ? this.incidents.page(from, { limit: MOST_INCIDENTS }) : null,
      seesSuppliers ? this.pools.pools() : [],
    ]);
    const bySupplier = new Map(answer.groups.map(({ value, sums }) => [value, sums]));
    return {
      from,
      to,
      total: figuresOf(answer.total),
      steps: answer.borders.map((begins, place) => ({ begins, ...figuresOf(answer.buckets[place]) })),
      providers: seesSuppliers ? this.standings(bySupplier, pools) : null,
      incidents: incidents?.rows ?? null,
    };
  }

  private standings(
    traffic: ReadonlyMap<string | null, UsageSums>,
    pools: readonly PoolHealth[],
  ): ProviderStanding[] {
    const lanes = Map.groupBy(this.health.states(), ({ supplier }) => supplier);
    return this.catalogue.snapshot.providers.map((provider) => {
      const { id, name, style, visible } = provider;
      const credential = this.credentials.stateOf(id);
      const isNeeded =
        this.styles.kindFor(style) === undefined || this.styles.of(provider).needsCredential(provider);
      const own = lanes.get(name) ?? [];
      const worst = own.toSorted((one, other) => severity[other.state] - severity[one.state])[0];
      const pool = pools.find(({ provider }) => provider === name);
      return {
        provider: name,
        style,
        visible,
        credential: credential === 'missing' && !isNeeded ? 'not-needed' : credential,
        circuit: worst?.state ?? 'unused',
        lanes: own.map(({ model, region, state }) => ({ model, region, state })),
        pool:
          pool === undefined ? null : { state: pool.state, pool_size: pool.pool_size, usable: pool.usable },
        traffic: figuresOf(traffic.get(name)),
      };
    });
  }
}

function figuresOf(sums: UsageSums = NO_SUMS): TrafficFigures {
  const { requests, failures, failovers, latencyMs, firstTokenMs, firstTokens, costNano } = sums;
  const mean = (sum: number, count: number): number | null => (count === 0 ? null : Math.round(sum / count));
  return {
    requests,
    failures,
    failovers,
    cost_usd: toJsonNumber(costNano),
    mean_latency_ms: mean(latencyMs, requests),
    mean_first_token_ms: mean(firstTokenMs, firstTokens),
  };
}
