import { Column, CreateDateColumn, Entity, PrimaryGeneratedColumn } from 'typeorm';
import type { AnswerModel, ContinueStreams } from '../kernel';
import { RegionsColumn } from '../platform';

export type KeyKind = 'client' | 'root' | 'webchat';
export type KeyStatus = 'active' | 'disabled' | 'revoked';

@Entity('api_key')
export class ApiKey {
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

  /** The secret before the last rotation, while it still counts. */
  @Column('bytea', { name: 'previous_hash', nullable: true, select: false })
  previousHash: Buffer | null;

  @Column('timestamptz', { name: 'previous_until', nullable: true })
  previousUntil: Date | null;

  @Column('text', { default: 'client' })
  kind: KeyKind;

  @Column('text')
  name: string;

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

  @Column('text', { name: 'allowed_models', array: true, nullable: true })
  allowedModels: string[] | null;

  @RegionsColumn({ name: 'allowed_regions', nullable: true })
  allowedRegions: string[] | null;

  /** Whether they were given as a list; as a text they are shown as one. */
  @Column('boolean', { name: 'regions_as_list', default: false })
  regionsAsList: boolean;

  @Column('integer', { name: 'rate_limit_rpm', nullable: true })
  rateLimitRpm: number | null;

  @Column('integer', { name: 'rate_limit_tpm', nullable: true })
  rateLimitTpm: number | null;

  @Column('integer', { name: 'max_parallel', nullable: true })
  maxParallel: number | null;

  /** Answers carry the model name of the catalogue or of the supplier. Null leaves it to the model. */
  @Column('text', { name: 'answer_model', nullable: true })
  answerModel: AnswerModel | null;

  /** `off` forbids that a broken stream goes on at another lane; otherwise the model says it. */
  @Column('text', { name: 'continue_streams', nullable: true })
  continueStreams: ContinueStreams | null;

  @Column('jsonb', { default: {} })
  metadata: Record<string, string>;

  @Column('timestamptz', { name: 'expires_at', nullable: true })
  expiresAt: Date | null;

  @CreateDateColumn({ name: 'created_at', type: 'timestamptz' })
  createdAt: Date;

  @Column('text', { name: 'created_by' })
  createdBy: string;

  /** It is the token of the form that made the key. */
  @Column('uuid', { name: 'creation_token', nullable: true })
  creationToken: string | null;

  /** The administrator who took it out of use; its owner cannot put it back. */
  @Column('integer', { name: 'paused_by', nullable: true })
  pausedBy: number | null;

  @Column('timestamptz', { name: 'paused_at', nullable: true })
  pausedAt: Date | null;

  @Column('text', { name: 'pause_reason', nullable: true })
  pauseReason: string | null;

  /** The administrator whose limits the owner cannot change. */
  @Column('integer', { name: 'limits_locked_by', nullable: true })
  limitsLockedBy: number | null;

  @Column('timestamptz', { name: 'limits_locked_at', nullable: true })
  limitsLockedAt: Date | null;

  /** The name that a gateway file gives it, where one keeps it. */
  @Column('text', { name: 'file_name', nullable: true })
  fileName: string | null;

  @Column('timestamptz', { name: 'revoked_at', nullable: true })
  revokedAt: Date | null;

  /** The person who revoked it in the portal. */
  @Column('integer', { name: 'revoked_by', nullable: true })
  revokedBy: number | null;

  /** The status that it gets back when it is restored; null where it has ended for good. */
  @Column('text', { name: 'revoked_from', nullable: true })
  revokedFrom: Exclude<KeyStatus, 'revoked'> | null;
}
