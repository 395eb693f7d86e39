import { Check, Column, CreateDateColumn, Entity, ForeignKey, PrimaryGeneratedColumn, Unique } from 'typeorm';
import { ChecksOf, columnsOf } from '../../platform';
import { modelFields } from './model-fields';

@Entity('model')
@Unique('model_name_key', ['name'])
@ChecksOf(modelFields)
@Check('model_not_own_redirect', 'redirect_to <> id')
@Check('model_not_own_overflow', 'overflow_to <> id')
@Check('model_limits_positive', 'context_tokens > 0 AND max_output_tokens > 0')
export class Model extends columnsOf(modelFields) {
  @PrimaryGeneratedColumn('identity', {
    type: 'integer',
    generatedIdentity: 'BY DEFAULT',
    primaryKeyConstraintName: 'model_pkey',
  })
  id: number;

  @Column('text')
  name: string;

  @Column('integer', { name: 'redirect_to', nullable: true })
  @ForeignKey(() => Model, { name: 'model_redirect_fkey' })
  redirectTo: number | null;

  @Column('integer', { name: 'overflow_to', nullable: true })
  @ForeignKey(() => Model, { name: 'model_overflow_fkey' })
  overflowTo: number | null;

  @Column('boolean', { default: false })
  managed: boolean;

  /** For trying the administration: never called, however it is priced, opened or redirected. */
  @Column('boolean', { default: false })
  fixture: boolean;

  @CreateDateColumn({ name: 'created_at', type: 'timestamptz' })
  createdAt: Date;
}
