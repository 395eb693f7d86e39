import { Column, CreateDateColumn, Entity, PrimaryGeneratedColumn } from 'typeorm';
import type { UnknownFieldMode } from '../kernel';
import { BigintColumn, RegionsColumn } from '../platform';

@Entity('organisation')
export class Organisation {
  @PrimaryGeneratedColumn('identity', {
    type: 'integer',
    generatedIdentity: 'BY DEFAULT',
    primaryKeyConstraintName: 'organisation_pkey',
  })
  id: number;

  @Column('text')
  name: string;

  @Column('text')
  slug: string;

  @Column('boolean', { name: 'billing_exempt', default: false })
  billingExempt: boolean;

  @Column('integer', { name: 'billing_user_id', nullable: true })
  billingUserId: number | null;

  @RegionsColumn({ name: 'allowed_regions', nullable: true })
  allowedRegions: string[] | null;

  /** Members sign in only through an identity provider; their passwords are disabled. */
  @Column('boolean', { name: 'sso_only', default: false })
  ssoOnly: boolean;

  /** Maximum total of the members' credit limits, as far as the organisation's own administrators set them. */
  @BigintColumn({ name: 'credit_ceiling_nano', default: '0' })
  creditCeilingNano: bigint;

  /** Traces are allowed to contain requests and responses, if the operator permits it. */
  @Column('boolean', { name: 'telemetry_content', default: false })
  telemetryContent: boolean;

  /** Handling of unknown request fields; null uses the setting of the installation. */
  @Column('text', { name: 'unknown_fields', nullable: true })
  unknownFields: UnknownFieldMode | null;

  @CreateDateColumn({ name: 'created_at', type: 'timestamptz' })
  createdAt: Date;

  /** Counts edits by administrators, so that the second of two concurrent edits is rejected. */
  @Column('integer', { default: 1 })
  version: number;
}
