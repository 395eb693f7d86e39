import { Injectable } from '@nestjs/common';
import { NO_SUMS, UsageQuery, type UsageSums } from '../../audit';
import { CatalogueService, type CredentialState, CredentialStore } from '../../catalogue';
import { type PeriodName, resolvePeriod, type Scope, toJsonNumber } from '../../kernel';
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

export interface ProviderStatus {
  readonly provider: string;
  readonly style: string;
  readonly visible: boolean;
  /** `not-needed` if none is stored and calls to this supplier need none. */
  readonly credential: CredentialState | 'not-needed';
  /** Worst state of the provider's lanes on this node; `unused` if no lane was called. */
  readonly circuit: LaneState['state'] | 'unused';
  readonly lanes: readonly Pick<LaneState, 'model' | 'region' | 'state'>[];
  readonly pool: Pick<PoolHealth, 'state' | 'pool_size' | 'usable'> | null;
  readonly traffic: TrafficFigures;
}

export interface TrafficReport {
  readonly from: Date;
  readonly to: Date;
  readonly total: TrafficFigures;
  readonly steps: readonly TrafficStep[];
  /** Null unless the reader is an administrator of the platform. */
  readonly providers: readonly ProviderStatus[] | null;
  readonly incidents: readonly Incident[] | null;
}

const MAX_INCIDENTS = 50;
const MAX_PROVIDERS = 200;
const severity = { closed: 0, 'half-open': 1, open: 2 } as const;

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
    canSeeSuppliers: boolean,
    { name, zone }: { readonly name: PeriodName; readonly zone: string },
  ): Promise<TrafficReport> {
    const { from, to } = resolvePeriod(name, zone, Date.now());
    const query = { from, to, bucket: isByDay(name) ? 'day' : 'hour', zone } as const;
    const [usage, incidents, pools] = await Promise.all([
      this.usage.read(scope, { ...query, groupBy: 'supplier', mostGroups: MAX_PROVIDERS }),
      canSeeSuppliers ? this.incidents.page(from, { limit: MAX_INCIDENTS }) : null,
      canSeeSuppliers ? this.pools.pools() : [],
    ]);
    const bySupplier = new Map(usage.groups.map(({ value, sums }) => [value, sums]));
    return {
      from,
      to,
      total: figuresOf(usage.total),
      steps: usage.borders.map((begins, index) => ({ begins, ...figuresOf(usage.buckets[index]) })),
      providers: canSeeSuppliers ? this.providerStatuses(bySupplier, pools) : null,
      incidents: incidents?.rows ?? null,
    };
  }

  private providerStatuses(
    traffic: ReadonlyMap<string | null, UsageSums>,
    pools: readonly PoolHealth[],
  ): ProviderStatus[] {
    const lanes = Map.groupBy(this.health.states(), ({ supplier }) => supplier);
    return this.catalogue.snapshot.providers.map((provider) => {
      const { id, name, style, visible } = provider;
      const credential = this.credentials.stateOf(id);
      const isNeeded =
        this.styles.credentialKindOf(style) === undefined ||
        this.styles.of(provider).needsCredential(provider);
      const ownLanes = lanes.get(name) ?? [];
      const worst = ownLanes.toSorted((one, other) => severity[other.state] - severity[one.state])[0];
      const pool = pools.find(({ provider }) => provider === name);
      return {
        provider: name,
        style,
        visible,
        credential: credential === 'missing' && !isNeeded ? 'not-needed' : credential,
        circuit: worst?.state ?? 'unused',
        lanes: ownLanes.map(({ model, region, state }) => ({ model, region, state })),
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
