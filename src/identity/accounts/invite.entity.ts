import { Column, CreateDateColumn, Entity, PrimaryGeneratedColumn } from 'typeorm';
import type { UserRole } from '../../kernel';

@Entity('invite')
export class Invite {
  @PrimaryGeneratedColumn('identity', {
    type: 'integer',
    generatedIdentity: 'BY DEFAULT',
    primaryKeyConstraintName: 'invite_pkey',
  })
  id: number;

  /** Keyed hash of the token in the email. */
  @Column('bytea', { name: 'token_hash' })
  tokenHash: Buffer;

  @Column('text')
  email: string;

  @Column('text')
  role: UserRole;

  @Column('integer', { name: 'organisation_id' })
  organisationId: number;

  @Column('integer', { name: 'department_id', nullable: true })
  departmentId: number | null;

  @Column('integer', { name: 'invited_by' })
  invitedBy: number;

  @CreateDateColumn({ name: 'created_at', type: 'timestamptz' })
  createdAt: Date;

  @Column('timestamptz', { name: 'expires_at' })
  expiresAt: Date;

  @Column('timestamptz', { name: 'accepted_at', nullable: true })
  acceptedAt: Date | null;

  @Column('timestamptz', { name: 'revoked_at', nullable: true })
  revokedAt: Date | null;
}
