import {
  Check,
  Column,
  CreateDateColumn,
  Entity,
  Exclusion,
  ForeignKey,
  PrimaryGeneratedColumn,
} from 'typeorm';
import { Model } from './model.entity';
import { Price } from './price.entity';

/** Time span in which another price applies, from `starts_at` up to but excluding `ends_at`. */
@Entity('price_schedule')
@ForeignKey(() => Price, ['modelId', 'priceId'], ['modelId', 'id'], { name: 'price_schedule_price_fkey' })
@Check('price_schedule_forward', 'ends_at > starts_at')
@Exclusion(
  'price_schedule_alone',
  `USING gist (int4range(model_id, model_id, '[]') WITH &&, tstzrange(starts_at, ends_at) WITH &&)`,
)
export class PriceSchedule {
  @PrimaryGeneratedColumn('identity', {
    type: 'integer',
    generatedIdentity: 'BY DEFAULT',
    primaryKeyConstraintName: 'price_schedule_pkey',
  })
  id: number;

  @Column('integer', { name: 'model_id' })
  @ForeignKey(() => Model, { name: 'price_schedule_model_fkey' })
  modelId: number;

  @Column('integer', { name: 'price_id' })
  priceId: number;

  @Column({ type: 'timestamptz', name: 'starts_at', precision: 3 })
  startsAt: Date;

  @Column({ type: 'timestamptz', name: 'ends_at', precision: 3, nullable: true })
  endsAt: Date | null;

  @CreateDateColumn({ name: 'created_at', type: 'timestamptz' })
  createdAt: Date;
}
