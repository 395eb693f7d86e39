import { Check, Column, CreateDateColumn, Entity, Index, PrimaryGeneratedColumn } from 'typeorm';
import { RegionsColumn } from '../../platform';

/** These are deadlines towards one supplier, in milliseconds; what is missing is the service's own. */
export interface ProviderTimeouts {
  readonly connect?: number;
  readonly firstByte?: number;
  readonly firstToken?: number;
  readonly idle?: number;
  readonly total?: number;
}

/** Lanes of one supplier count as failing by these, in milliseconds; what is missing is the service's own. */
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

  /** This supplier adapter speaks to it. */
  @Column('text')
  style: string;

  @Column('text', { name: 'base_url' })
  baseUrl: string;

  /** The provider answers in these; without any, wherever a lane says. */
  @RegionsColumn({ default: [] })
  regions: string[];

  /** A hidden provider's lanes are left out, so the backups of its models move up. */
  @Column('boolean', { default: true })
  visible: boolean;

  /** The supplier's adapter reads these settings, which are peculiar to it. */
  @Column('jsonb', { default: {} })
  settings: Record<string, unknown>;

  @Column('jsonb', { default: {} })
  timeouts: ProviderTimeouts;

  @Column('jsonb', { default: {} })
  breaker: ProviderBreaker;

  /** A configuration file keeps it; pages show it and leave it alone. */
  @Column('boolean', { default: false })
  managed: boolean;

  @CreateDateColumn({ name: 'created_at', type: 'timestamptz' })
  createdAt: Date;

  /** A provider goes only when no lane needs it; its record stays, because removed lanes point at it. */
  @Column('timestamptz', { name: 'removed_at', nullable: true })
  removedAt: Date | null;
}
