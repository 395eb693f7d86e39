import { Column, CreateDateColumn, Entity, PrimaryGeneratedColumn } from 'typeorm';
import type { UserRole } from '../kernel';
import type { BillingType } from './billing-type';
import type { UserStatus } from './user-status';

@Entity('user_account')
export class UserAccount {
  @PrimaryGeneratedColumn('identity', {
    type: 'integer',
    generatedIdentity: 'BY DEFAULT',
    primaryKeyConstraintName: 'user_account_pkey',
  })
  id: number;

  @Column('text')
  email: string;

  /** Another account has this address in another spelling, from before both counted as one address. */
  @Column('boolean', { name: 'shares_address', default: false })
  sharesAddress: boolean;

  @Column('text', { name: 'display_name' })
  displayName: string;

  @Column('text', { default: 'user' })
  role: UserRole;

  @Column('text', { default: 'pending_verification' })
  status: UserStatus;

  @Column('integer', { name: 'organisation_id', nullable: true })
  organisationId: number | null;

  @Column('integer', { name: 'department_id', nullable: true })
  departmentId: number | null;

  @Column('text', { name: 'password_hash', nullable: true, select: false })
  passwordHash: string | null;

  @Column('boolean', { name: 'billing_exempt', default: false })
  billingExempt: boolean;

  @Column('integer', { name: 'delegate_user_id', nullable: true })
  delegateUserId: number | null;

  @Column('text', { name: 'preferred_language', default: 'en' })
  preferredLanguage: string;

  @Column('text', { name: 'time_zone', default: 'UTC' })
  timeZone: string;

  @CreateDateColumn({ name: 'created_at', type: 'timestamptz' })
  createdAt: Date;

  @Column('timestamptz', { name: 'last_seen_at', nullable: true })
  lastSeenAt: Date | null;

  @Column('text', { name: 'billing_type', default: 'prepaid' })
  billingType: BillingType;

  @Column('boolean', { name: 'telemetry_content', default: false })
  telemetryContent: boolean;

  /** Counts edits by administrators, so that the second of two concurrent edits is rejected. */
  @Column('integer', { default: 1 })
  version: number;
}
