import { Check, Column, CreateDateColumn, Entity, ForeignKey, PrimaryGeneratedColumn, Unique } from 'typeorm';
import { type AnswerModel, ANSWER_MODELS, type ContinueStreams } from '../../kernel';
import type { FactsOverride } from '../../vendors';

export const MODEL_KINDS = [
  'chat',
  'embedding',
  'rerank',
  'transcription',
  'speech',
  'image',
  'moderation',
] as const;
export type ModelKind = (typeof MODEL_KINDS)[number];

/** `hidden` is served but not listed; `paused` is listed but not served; `deleted` keeps its record. */
export const MODEL_STATES = ['active', 'paused', 'hidden', 'deleted'] as const;
export type ModelState = (typeof MODEL_STATES)[number];

/** How lanes of one priority are ordered: by weight, by lowest price, or by quickest answers. */
export const LANE_ORDERS = ['weight', 'price', 'latency'] as const;
export type LaneOrder = (typeof LANE_ORDERS)[number];

/** The most input tokens that one thing takes; what is left out takes what its vendor allows. */
export interface ModelBounds {
  readonly imageTokens?: number;
  readonly documentTokens?: number;
  /** Content that only the supplier knows: an earlier answer, a stored prompt, a part of an unknown kind. */
  readonly referenceTokens?: number;
  /** The input tokens that one use of a server tool adds. */
  readonly roundTokens?: number;
}

@Entity('model')
@Unique('model_name_key', ['name'])
@Check('model_kind_known', `kind IN (${MODEL_KINDS.map((kind) => `'${kind}'`).join(', ')})`)
@Check('model_state_known', `state IN (${MODEL_STATES.map((state) => `'${state}'`).join(', ')})`)
@Check('model_lane_order_known', `lane_order IN (${LANE_ORDERS.map((order) => `'${order}'`).join(', ')})`)
@Check('model_continue_streams_known', `continue_streams IN ('on', 'off')`)
@Check('model_answer_model_known', `answer_model IN (${ANSWER_MODELS.map((name) => `'${name}'`).join(', ')})`)
@Check('model_not_own_redirect', 'redirect_to <> id')
@Check('model_not_own_overflow', 'overflow_to <> id')
@Check('model_bounds_object', "jsonb_typeof(bounds) = 'object'")
@Check('model_facts_object', "jsonb_typeof(facts) = 'object'")
@Check('model_limits_positive', 'context_tokens > 0 AND max_output_tokens > 0')
export class Model {
  @PrimaryGeneratedColumn('identity', {
    type: 'integer',
    generatedIdentity: 'BY DEFAULT',
    primaryKeyConstraintName: 'model_pkey',
  })
  id: number;

  /** The public id: what callers send as `model`. */
  @Column('text')
  name: string;

  @Column('text', { name: 'display_name' })
  displayName: string;

  @Column('text', { name: 'owned_by' })
  ownedBy: string;

  @Column('text')
  kind: ModelKind;

  @Column('text', { default: 'active' })
  state: ModelState;

  @Column('integer', { name: 'display_order', default: 0 })
  displayOrder: number;

  @Column('integer', { name: 'redirect_to', nullable: true })
  @ForeignKey(() => Model, { name: 'model_redirect_fkey' })
  redirectTo: number | null;

  /** The model that answers requests too long for this one. */
  @Column('integer', { name: 'overflow_to', nullable: true })
  @ForeignKey(() => Model, { name: 'model_overflow_fkey' })
  overflowTo: number | null;

  @Column('text', { name: 'lane_order', default: 'weight' })
  laneOrder: LaneOrder;

  /** Answers carry the model name of the catalogue or of the supplier. The key's setting wins. */
  @Column('text', { name: 'answer_model', default: 'caller' })
  answerModel: AnswerModel;

  /** `off` forbids that a broken stream goes on at another lane, whatever the key says. */
  @Column('text', { name: 'continue_streams', default: 'on' })
  continueStreams: ContinueStreams;

  @Column('integer', { name: 'context_tokens', nullable: true })
  contextTokens: number | null;

  @Column('integer', { name: 'max_output_tokens', nullable: true })
  maxOutputTokens: number | null;

  /** A bound below the vendor's own, where the operator knows better. */
  @Column('jsonb', { default: {} })
  bounds: ModelBounds;

  /** What its vendor says of it, where the operator knows better than the table. */
  @Column('jsonb', { default: {} })
  facts: FactsOverride;

  @Column('text', { name: 'input_modalities', array: true, default: ['text'] })
  inputModalities: string[];

  @Column('text', { name: 'output_modalities', array: true, default: ['text'] })
  outputModalities: string[];

  @Column('text', { array: true, default: [] })
  capabilities: string[];

  @Column('boolean', { name: 'replay_included', default: false })
  replayIncluded: boolean;

  /** Open only to organisations it was granted to. */
  @Column('boolean', { default: false })
  restricted: boolean;

  @Column('boolean', { default: false })
  managed: boolean;

  /** For trying the administration: never called, however it is priced, opened or redirected. */
  @Column('boolean', { default: false })
  fixture: boolean;

  /** Not served from this date on, unless it redirects to another model. */
  @Column('timestamptz', { name: 'retires_at', nullable: true })
  retiresAt: Date | null;

  @CreateDateColumn({ name: 'created_at', type: 'timestamptz' })
  createdAt: Date;
}
