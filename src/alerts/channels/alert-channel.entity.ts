import { Column, CreateDateColumn, Entity, PrimaryGeneratedColumn } from 'typeorm';
import type { Severity } from '../catalogue/kinds';
import type { Audience, ChannelKind } from './channel-kinds';

@Entity('alert_channel')
export class AlertChannel {
  @PrimaryGeneratedColumn('identity', {
    type: 'integer',
    generatedIdentity: 'ALWAYS',
    primaryKeyConstraintName: 'alert_channel_pkey',
  })
  id: number;

  /** Null for a channel of the platform. */
  @Column('integer', { name: 'organisation_id', nullable: true })
  organisationId: number | null;

  @Column('text')
  kind: ChannelKind;

  @Column('text')
  name: string;

  /** The only part of the address that is shown. */
  @Column('text', { default: '' })
  host: string;

  /** Sealed address and keys; null for an email channel. */
  @Column('bytea', { nullable: true, select: false })
  secret: Buffer | null;

  @Column('text', { default: 'en' })
  language: string;

  @Column('text', { default: 'owners' })
  audience: Audience;

  @Column('text', { name: 'least_severity', default: 'info' })
  leastSeverity: Severity;

  @Column('boolean', { default: true })
  enabled: boolean;

  @CreateDateColumn({ name: 'created_at', type: 'timestamptz' })
  createdAt: Date;

  @Column('timestamptz', { name: 'succeeded_at', nullable: true })
  succeededAt: Date | null;

  @Column('timestamptz', { name: 'failed_at', nullable: true })
  failedAt: Date | null;

  @Column('text', { name: 'last_error', nullable: true })
  lastError: string | null;
}
