import { Column, CreateDateColumn, Entity, PrimaryGeneratedColumn } from 'typeorm';

@Entity('department')
export class Department {
  @PrimaryGeneratedColumn('identity', {
    type: 'integer',
    generatedIdentity: 'BY DEFAULT',
    primaryKeyConstraintName: 'department_pkey',
  })
  id: number;

  @Column('integer', { name: 'organisation_id' })
  organisationId: number;

  @Column('text')
  name: string;

  @CreateDateColumn({ name: 'created_at', type: 'timestamptz' })
  createdAt: Date;

  /** Counts edits by administrators, so that the second of two concurrent edits is rejected. */
  @Column('integer', { default: 1 })
  version: number;
}
