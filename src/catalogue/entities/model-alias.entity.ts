import { Column, CreateDateColumn, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import { Model } from './model.entity';

@Entity('model_alias')
@Index('model_alias_by_model', ['modelId'])
export class ModelAlias {
  @PrimaryColumn('text', { primaryKeyConstraintName: 'model_alias_pkey' })
  name: string;

  @Column('integer', { name: 'model_id' })
  @ForeignKey(() => Model, { name: 'model_alias_model_fkey' })
  modelId: number;

  @CreateDateColumn({ name: 'created_at', type: 'timestamptz' })
  createdAt: Date;
}
