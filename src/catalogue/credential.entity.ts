import type { CredentialKind } from '#extension';
import { Check, Column, CreateDateColumn, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import { Provider } from './entities';

export const CREDENTIAL_KINDS = [
  'bearer',
  'header',
  'sigv4',
  'oauth-pool',
] as const satisfies readonly CredentialKind[];
export type { CredentialKind };

/** A client certificate with its key is stored like the secrets that a style needs. */
export const CLIENT_CERTIFICATE = 'client-certificate';
export type StoredKind = CredentialKind | typeof CLIENT_CERTIFICATE;

/** `limited`: the supplier asked to wait. `rejected`: the supplier no longer accepts the secret. */
export type CredentialHealth = 'unknown' | 'ok' | 'limited' | 'rejected';

export const CREDENTIAL_TABLE = 'provider_credential';

export const wipedFields = (): Partial<ProviderCredential> => {
  const empty = Buffer.alloc(0);
  return { disabledAt: new Date(), ciphertext: empty, nonce: empty, wrappedKey: empty };
};

@Entity(CREDENTIAL_TABLE)
@Index('provider_credential_label_key', ['providerId', 'label'], {
  unique: true,
  where: 'disabled_at IS NULL',
})
@Index('provider_credential_by_key', ['keyId', 'id'])
@Check(
  'provider_credential_kind_known',
  `kind IN ('bearer', 'header', 'sigv4', 'oauth-pool', 'client-certificate')`,
)
@Check('provider_credential_health_known', `health IN ('unknown', 'ok', 'limited', 'rejected')`)
@Check('provider_credential_hint_short', `length(last4) <= 4`)
export class ProviderCredential {
  @PrimaryColumn('uuid', { primaryKeyConstraintName: 'provider_credential_pkey' })
  id: string;

  @Column('integer', { name: 'provider_id' })
  @ForeignKey(() => Provider, { name: 'provider_credential_provider_fkey' })
  providerId: number;

  /** Name that operators see; in a pool, the name of the key. */
  @Column('text')
  label: string;

  @Column('text')
  kind: StoredKind;

  /**
   * Only address that the secret is sent to. Part of the authenticated data: the secret cannot be opened for another.
   */
  @Column('text')
  host: string;

  @Column('text', { name: 'key_id' })
  keyId: string;

  @Column('bytea', { name: 'wrapped_key' })
  wrappedKey: Buffer;

  @Column('bytea')
  nonce: Buffer;

  @Column('bytea')
  ciphertext: Buffer;

  @Column('text', { default: '' })
  last4: string;

  @Column('text', { default: 'unknown' })
  health: CredentialHealth;

  /** Until this time, a single node has the right to renew the token. */
  @Column('timestamptz', { name: 'refreshing_until', nullable: true })
  refreshingUntil: Date | null;

  @CreateDateColumn({ name: 'created_at', type: 'timestamptz' })
  createdAt: Date;

  /** A disabled credential keeps its row for the events that name it, but not its secret. */
  @Column('timestamptz', { name: 'disabled_at', nullable: true })
  disabledAt: Date | null;
}
