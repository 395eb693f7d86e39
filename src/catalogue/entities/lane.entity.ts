import { Check, Column, Entity, ForeignKey, Index, PrimaryGeneratedColumn, Unique } from 'typeorm';
import { RegionColumn } from '../../platform';
import { type Wire, WIRES } from '../../vendors';
import { Model } from './model.entity';
import { Provider } from './provider.entity';

/** A lane is one way to a model: a supplier's own model in a region. Removed lanes stay, as prices point at them. */
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

  /** The supplier calls the model so. */
  @Column('text', { name: 'upstream_model' })
  upstreamModel: string;

  @RegionColumn()
  region: string;

  /** Lowest first: 0 is the primary, the rest are backups. */
  @Column('integer', { default: 0 })
  priority: number;

  /** It is the lane's share among lanes of one priority. */
  @Column('integer', { default: 1 })
  weight: number;

  /** It is asked again so often for one request, after a short limit or an internal error. */
  @Column('smallint', { default: 0 })
  retries: number;

  /** The known model that a deployment or a router serves under a name of its own. */
  @Column('text', { nullable: true })
  facts: string | null;

  /** The dialect in which conversations are asked for, where the supplier speaks several. */
  @Column('text', { nullable: true })
  wire: Wire | null;

  @Column('boolean', { default: true })
  enabled: boolean;

  @Column('timestamptz', { name: 'removed_at', nullable: true })
  removedAt: Date | null;
}
