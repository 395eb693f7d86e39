import { Check, Column, CreateDateColumn, Entity, ForeignKey, PrimaryGeneratedColumn, Unique } from 'typeorm';
import { BigintColumn } from '../../platform';
import { Lane } from './lane.entity';
import { Model } from './model.entity';

/** A version of a price, in nano-USD for a million tokens; never changed once written. */
@Entity('price')
@ForeignKey(() => Lane, ['modelId', 'laneId'], ['modelId', 'id'], { name: 'price_lane_fkey' })
@Unique('price_within_model_key', ['modelId', 'id'])
@Check(
  'price_not_negative',
  `least(input, output, cache_read, cache_write, cache_write_long, reasoning, audio_input, audio_output,
    image, image_output, per_call, per_minute) >= 0`,
)
export class Price {
  @PrimaryGeneratedColumn('identity', {
    type: 'integer',
    generatedIdentity: 'BY DEFAULT',
    primaryKeyConstraintName: 'price_pkey',
  })
  id: number;

  @Column('integer', { name: 'model_id' })
  @ForeignKey(() => Model, { name: 'price_model_fkey' })
  modelId: number;

  /** Null: every lane of the model that has no price of its own. */
  @Column('integer', { name: 'lane_id', nullable: true })
  laneId: number | null;

  @BigintColumn()
  input: bigint;

  @BigintColumn()
  output: bigint;

  @BigintColumn({ name: 'cache_read', nullable: true })
  cacheRead: bigint | null;

  @BigintColumn({ name: 'cache_write', nullable: true })
  cacheWrite: bigint | null;

  @BigintColumn({ name: 'cache_write_long', nullable: true })
  cacheWriteLong: bigint | null;

  @BigintColumn({ nullable: true })
  reasoning: bigint | null;

  @BigintColumn({ name: 'audio_input', nullable: true })
  audioInput: bigint | null;

  @BigintColumn({ name: 'audio_output', nullable: true })
  audioOutput: bigint | null;

  @BigintColumn({ nullable: true })
  image: bigint | null;

  @BigintColumn({ name: 'image_output', nullable: true })
  imageOutput: bigint | null;

  @BigintColumn({ name: 'per_call', default: 0 })
  perCall: bigint;

  @BigintColumn({ name: 'per_minute', default: 0 })
  perMinute: bigint;

  /** Rates as decimal texts of nano-USD, since JSON numbers are no place for money. */
  @Column('jsonb', { default: [] })
  tiers: StoredTier[];

  /** Rates beside tokens and calls, encoded like the tiers. */
  @Column('jsonb', { default: {} })
  fees: StoredFees;

  /** Null: in force only during a schedule. */
  @Column({ type: 'timestamptz', name: 'valid_from', precision: 3, nullable: true })
  validFrom: Date | null;

  /** Its source: a person, an import, a file. */
  @Column('text')
  source: string;

  @CreateDateColumn({ name: 'created_at', type: 'timestamptz' })
  createdAt: Date;
}

export interface StoredTier {
  aboveInputTokens: number;
  [rate: string]: string | number | null;
}

export interface StoredFees {
  uses?: Record<string, string>;
  images?: Record<string, string>;
  modes?: Record<string, StoredMode>;
}

export interface StoredMode {
  /** In millionths. */
  multiplier?: string;
  rates?: Record<string, string | null>;
  tiers?: StoredTier[];
}
