import { Check, Column, Entity, ForeignKey, Index, PrimaryGeneratedColumn, Unique } from 'typeorm';
import { RegionColumn } from '../../platform';
import { type Wire, WIRES } from '../../vendors';
import { Model } from './model.entity';
import { Provider } from './provider.entity';

/** A route to a model: a supplier's model in a region. Removed lanes stay because prices refer to them. */
@Entity('lane')
@Unique('lane_route_key', ['modelId', 'providerId', 'upstreamModel', 'region'])
@Unique('lane_within_model_key', ['modelId', 'id'])
@Index('lane_by_provider', ['providerId'])
@Check('lane_weight_positive', 'weight > 0')
@Check('lane_retries_few', 'retries BETWEEN 0 AND 2')
@Check('lane_wire_known', `wire IN (${WIRES.map((wire) => `'${wire}'`).join(', ')})`)
export class Lane {
  @PrimaryGeneratedColumn('identity', {
    type: 'integer',
    generatedIdentity: 'BY DEFAULT',
    primaryKeyConstraintName: 'lane_pkey',
  })
  id: number;

  @Column('integer', { name: 'model_id' })
  @ForeignKey(() => Model, { name: 'lane_model_fkey' })
  modelId: number;

  @Column('integer', { name: 'provider_id' })
  @ForeignKey(() => Provider, { name: 'lane_provider_fkey' })
  providerId: number;

  @Column('text', { name: 'upstream_model' })
  upstreamModel: string;

  @RegionColumn()
  region: string;

  /** Lowest first: 0 is the primary, the rest are backups. */
  @Column('integer', { default: 0 })
  priority: number;

  /** Share among lanes of the same priority. */
  @Column('integer', { default: 1 })
  weight: number;

  /** Retries of this lane per request after a short rate limit or an internal error. */
  @Column('smallint', { default: 0 })
  retries: number;

  /** Known model that a deployment or router serves under another name. */
  @Column('text', { nullable: true })
  facts: string | null;

  /** Dialect for conversations if the supplier offers several. */
  @Column('text', { nullable: true })
  wire: Wire | null;

  @Column('boolean', { default: true })
  enabled: boolean;

  @Column('timestamptz', { name: 'removed_at', nullable: true })
  removedAt: Date | null;
}
