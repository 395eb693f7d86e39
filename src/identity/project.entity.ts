import { Column, CreateDateColumn, Entity, PrimaryColumn, PrimaryGeneratedColumn } from 'typeorm';

@Entity('project')
export class Project {
  @PrimaryGeneratedColumn('identity', {
    type: 'integer',
    generatedIdentity: 'BY DEFAULT',
    primaryKeyConstraintName: 'project_pkey',
  })
  id: number;

  @Column('integer', { name: 'organisation_id', nullable: true })
  organisationId: number | null;

  @Column('text')
  name: string;

  @Column('integer', { name: 'billing_user_id', nullable: true })
  billingUserId: number | null;

  @Column('integer', { name: 'created_by' })
  createdBy: number;

  @CreateDateColumn({ name: 'created_at', type: 'timestamptz' })
  createdAt: Date;

  @Column('timestamptz', { name: 'archived_at', nullable: true })
  archivedAt: Date | null;

  /** Counts edits by administrators, so that the second of two concurrent edits is rejected. */
  @Column('integer', { default: 1 })
  version: number;
}

@Entity('project_member')
export class ProjectMember {
  @PrimaryColumn('integer', { name: 'project_id', primaryKeyConstraintName: 'project_member_pkey' })
  projectId: number;

  @PrimaryColumn('integer', { name: 'user_id', primaryKeyConstraintName: 'project_member_pkey' })
  userId: number;

  @CreateDateColumn({ name: 'added_at', type: 'timestamptz' })
  addedAt: Date;
}
