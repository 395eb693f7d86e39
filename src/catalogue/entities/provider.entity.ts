import { Check, Column, CreateDateColumn, Entity, Index, PrimaryGeneratedColumn } from 'typeorm';
import { RegionsColumn } from '../../platform';

/** Deadlines for one supplier, in milliseconds; omitted values default to the service's settings. */
export interface ProviderTimeouts {
  readonly connect?: number;
  readonly firstByte?: number;
  readonly firstToken?: number;
  readonly idle?: number;
  readonly total?: number;
}

/**
 * Circuit breaker settings of one supplier's lanes, times in milliseconds; omitted values default to the service's
 * settings.
 */
export interface ProviderBreaker {
  readonly failures?: number;
  readonly window?: number;
  readonly rest?: number;
  readonly longestRest?: number;
  readonly longestRetryAfter?: number;
}

@Entity('provider')
@Index('provider_name_key', ['name'], { unique: true, where: 'removed_at IS NULL' })
@Check('provider_style_form', `style ~ '^[a-z][a-z0-9-]*$'`)
export class Provider {
  @PrimaryGeneratedColumn('identity', {
    type: 'integer',
    generatedIdentity: 'BY DEFAULT',
    primaryKeyConstraintName: 'provider_pkey',
  })
  id: number;

  @Column('text')
  name: string;

  @Column('text')
  style: string;

  @Column('text', { name: 'base_url' })
  baseUrl: string;

  /** Regions that the provider serves; if empty, each lane's region applies. */
  @RegionsColumn({ default: [] })
  regions: string[];

  /** Lanes of a hidden provider are omitted, so that the backups of its models move up. */
  @Column('boolean', { default: true })
  visible: boolean;

  @Column('jsonb', { default: {} })
  settings: Record<string, unknown>;

  @Column('jsonb', { default: {} })
  timeouts: ProviderTimeouts;

  @Column('jsonb', { default: {} })
  breaker: ProviderBreaker;

  @Column('boolean', { default: false })
  managed: boolean;

  @CreateDateColumn({ name: 'created_at', type: 'timestamptz' })
  createdAt: Date;

  /** A provider can be removed only if no lane uses it; its record stays because removed lanes refer to it. */
  @Column('timestamptz', { name: 'removed_at', nullable: true })
  removedAt: Date | null;
}
