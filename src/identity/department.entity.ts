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

  /** Counts the edits of administrators, so that of two at once the second is told. */
  @Column('integer', { default: 1 })
  version: number;
}
