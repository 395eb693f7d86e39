import { Check, Column, CreateDateColumn, Entity, ForeignKey, PrimaryGeneratedColumn, Unique } from 'typeorm';
import { type PriceRates, type RateName, RATES } from '../../kernel';
import { BigintColumn } from '../../platform';
import { Lane } from './lane.entity';
import { Model } from './model.entity';

type Mutable<Values> = { -readonly [Name in keyof Values]: Values[Name] };

/** A column per rate; null if the price has no such rate and a fallback applies. */
class RateColumns {}
for (const { name, word, unit, fallback } of RATES)
  BigintColumn({
    name: word,
    nullable: fallback !== null,
    ...(unit === 'tokens' ? {} : { default: 0 }),
  })(RateColumns.prototype, name);

/** A price version in nano-USD per 1M tokens; never changed once written. */
@Entity('price')
@ForeignKey(() => Lane, ['modelId', 'laneId'], ['modelId', 'id'], { name: 'price_lane_fkey' })
@Unique('price_within_model_key', ['modelId', 'id'])
@Check('price_not_negative', `least(${RATES.map(({ word }) => word).join(', ')}) >= 0`)
export class Price extends (RateColumns as new () => Mutable<Pick<PriceRates, RateName>>) {
  @PrimaryGeneratedColumn('identity', {
    type: 'integer',
    generatedIdentity: 'BY DEFAULT',
    primaryKeyConstraintName: 'price_pkey',
  })
  id: number;

  @Column('integer', { name: 'model_id' })
  @ForeignKey(() => Model, { name: 'price_model_fkey' })
  modelId: number;

  /** Null: every lane of the model without a price of its own. */
  @Column('integer', { name: 'lane_id', nullable: true })
  laneId: number | null;

  /** Rates are decimal text in nano-USD, because JSON numbers cannot hold money exactly. */
  @Column('jsonb', { default: [] })
  tiers: StoredTier[];

  /** Rates other than those of tokens and calls, encoded like the tiers. */
  @Column('jsonb', { default: {} })
  fees: StoredFees;

  /** Null: in force only during a schedule. */
  @Column({ type: 'timestamptz', name: 'valid_from', precision: 3, nullable: true })
  validFrom: Date | null;

  /** Who set the price: a user, an import or a file. */
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
