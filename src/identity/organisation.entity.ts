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

  /** Members sign in through an identity provider alone; their passwords open nothing. */
  @Column('boolean', { name: 'sso_only', default: false })
  ssoOnly: boolean;

  /** The most that the credit limits of its people come to, as far as its own administrators set them. */
  @BigintColumn({ name: 'credit_ceiling_nano', default: '0' })
  creditCeilingNano: bigint;

  /** Spans of its calls may hold what they ask and get, where the operator allows that. */
  @Column('boolean', { name: 'telemetry_content', default: false })
  telemetryContent: boolean;

  /** Request fields that the gateway does not know; null leaves it to the installation. */
  @Column('text', { name: 'unknown_fields', nullable: true })
  unknownFields: UnknownFieldMode | null;

  @CreateDateColumn({ name: 'created_at', type: 'timestamptz' })
  createdAt: Date;

  /** Counts the edits of administrators, so that of two at once the second is told. */
  @Column('integer', { default: 1 })
  version: number;
}
