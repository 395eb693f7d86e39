import { Injectable } from '@nestjs/common';
import type { CredentialHealth } from '../../catalogue';
import { Database, type TableRow } from '../../platform';

interface PooledTokenHealth {
  readonly key_name: string;
  readonly health: CredentialHealth;
  readonly last_event: { readonly kind: string; readonly error_kind: string; readonly at: string } | null;
}

export interface PoolHealth {
  readonly provider: string;
  readonly visible: boolean;
  /** `healthy` if the supplier accepts every token, `degraded` if some, `down` if none. */
  readonly state: 'healthy' | 'degraded' | 'down';
  readonly pool_size: number;
  readonly usable: number;
  readonly tokens: readonly PooledTokenHealth[];
}

type TokenRow = TableRow<'provider_credential', 'label, health'> & {
  readonly provider: string;
  readonly visible: boolean;
  readonly kind: string | null;
  readonly errorKind: string | null;
  readonly at: Date | null;
};

const MAX_TOKENS = 5_000;
const TOKENS = `
  SELECT p.name AS provider, p.visible, c.label, c.health, e.kind, e.error_kind, e.at
    FROM provider_credential c JOIN provider p ON p.id = c.provider_id
    LEFT JOIN LATERAL (SELECT kind, error_kind, at FROM provider_token_event
                        WHERE credential_id = c.id ORDER BY at DESC, id DESC LIMIT 1) e ON true
   WHERE c.kind = 'oauth-pool' AND c.disabled_at IS NULL AND p.removed_at IS NULL
   ORDER BY p.name, c.label LIMIT ${MAX_TOKENS}`;

@Injectable()
export class PoolHealthQuery {
  constructor(private readonly database: Database) {}

  async pools(): Promise<PoolHealth[]> {
    const rows = await this.database.rows<TokenRow>(TOKENS);
    return [...Map.groupBy(rows, ({ provider }) => provider)].map(([provider, tokens]) => {
      const usable = tokens.filter(({ health }) => health === 'ok' || health === 'unknown').length;
      return {
        provider,
        visible: tokens.every(({ visible }) => visible),
        state: usable === tokens.length ? 'healthy' : usable === 0 ? 'down' : 'degraded',
        pool_size: tokens.length,
        usable,
        tokens: tokens.map(tokenOf),
      };
    });
  }
}

const tokenOf = ({ label, health, kind, errorKind, at }: TokenRow): PooledTokenHealth => ({
  key_name: label,
  health,
  last_event:
    kind === null || at === null ? null : { kind, error_kind: errorKind ?? '', at: at.toISOString() },
});
