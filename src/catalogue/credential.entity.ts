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

/** A certificate of ours with its key is stored in the same way, beside what a style asks for. */
export const CLIENT_CERTIFICATE = 'client-certificate';
export type StoredKind = CredentialKind | typeof CLIENT_CERTIFICATE;

/** `limited`: the supplier asked to wait. `rejected`: it no longer takes the secret. */
export type CredentialHealth = 'unknown' | 'ok' | 'limited' | 'rejected';

export const CREDENTIAL_TABLE = 'provider_credential';

/** A credential that is no longer wanted is emptied so. */
export const wiped = (): Partial<ProviderCredential> => {
  const nothing = Buffer.alloc(0);
  return { disabledAt: new Date(), ciphertext: nothing, nonce: nothing, wrappedKey: nothing };
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

  /** People call it by this name; among the tokens of a pool it is the name of the key. */
  @Column('text')
  label: string;

  @Column('text')
  kind: StoredKind;

  /**
   * The secret may be sent to this address alone. It is part of what is authenticated: elsewhere the secret
   * does not open.
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

  /** All that is ever shown again. */
  @Column('text', { default: '' })
  last4: string;

  @Column('text', { default: 'unknown' })
  health: CredentialHealth;

  /** One node has the right to renew it until then. */
  @Column('timestamptz', { name: 'refreshing_until', nullable: true })
  refreshingUntil: Date | null;

  @CreateDateColumn({ name: 'created_at', type: 'timestamptz' })
  createdAt: Date;

  /** A disabled credential is gone: its row stays for the events that name it, its secret does not. */
  @Column('timestamptz', { name: 'disabled_at', nullable: true })
  disabledAt: Date | null;
}
