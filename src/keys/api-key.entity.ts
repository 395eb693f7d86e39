import { Column, CreateDateColumn, Entity, PrimaryGeneratedColumn } from 'typeorm';
import { columnsOf, RegionsColumn } from '../platform';
import { keyFields } from './key-fields';

export type KeyKind = 'client' | 'root' | 'webchat';
export type KeyStatus = 'active' | 'disabled' | 'revoked';

@Entity('api_key')
export class ApiKey extends columnsOf(keyFields) {
  @PrimaryGeneratedColumn('identity', {
    type: 'integer',
    generatedIdentity: 'BY DEFAULT',
    primaryKeyConstraintName: 'api_key_pkey',
  })
  id: number;

  @Column('text', { name: 'public_id' })
  publicId: string;

  @Column('bytea', { name: 'secret_hash', select: false })
  secretHash: Buffer;

  /** Hash of the secret before the last rotation, while it is still valid. */
  @Column('bytea', { name: 'previous_hash', nullable: true, select: false })
  previousHash: Buffer | null;

  @Column('timestamptz', { name: 'previous_until', nullable: true })
  previousUntil: Date | null;

  @Column('text', { default: 'client' })
  kind: KeyKind;

  @Column('text', { default: 'active' })
  status: KeyStatus;

  @Column('integer', { name: 'user_id', nullable: true })
  userId: number | null;

  @Column('integer', { name: 'organisation_id', nullable: true })
  organisationId: number | null;

  @Column('integer', { name: 'department_id', nullable: true })
  departmentId: number | null;

  @Column('integer', { name: 'project_id', nullable: true })
  projectId: number | null;

  /** Rows might predate the normalised spelling of regions. */
  @RegionsColumn({ name: 'allowed_regions', nullable: true })
  override allowedRegions: string[] | null;

  @CreateDateColumn({ name: 'created_at', type: 'timestamptz' })
  createdAt: Date;

  @Column('text', { name: 'created_by' })
  createdBy: string;

  @Column('uuid', { name: 'creation_token', nullable: true })
  creationToken: string | null;

  /** Administrator who paused the key; its owner cannot resume it. */
  @Column('integer', { name: 'paused_by', nullable: true })
  pausedBy: number | null;

  @Column('timestamptz', { name: 'paused_at', nullable: true })
  pausedAt: Date | null;

  @Column('text', { name: 'pause_reason', nullable: true })
  pauseReason: string | null;

  /** Administrator whose limits the owner cannot change. */
  @Column('integer', { name: 'limits_locked_by', nullable: true })
  limitsLockedBy: number | null;

  @Column('timestamptz', { name: 'limits_locked_at', nullable: true })
  limitsLockedAt: Date | null;

  /** Name of the key in a gateway file; null if no file manages it. */
  @Column('text', { name: 'file_name', nullable: true })
  fileName: string | null;

  @Column('timestamptz', { name: 'revoked_at', nullable: true })
  revokedAt: Date | null;

  @Column('integer', { name: 'revoked_by', nullable: true })
  revokedBy: number | null;

  /** Status that a restore sets; null if the key was revoked permanently. */
  @Column('text', { name: 'revoked_from', nullable: true })
  revokedFrom: Exclude<KeyStatus, 'revoked'> | null;
}
