import { Type } from 'class-transformer';
import { IfGiven } from '../../web';
import { MODEL_STATES, modelFields, type ModelState } from '../../catalogue';
import { type RateField, RATES } from '../../kernel';
import {
  ArrayMaxSize,
  IsArray,
  IsIn,
  IsInt,
  IsOptional,
  IsString,
  MaxLength,
  ValidateNested,
  withFields,
} from '../../platform';
import { type FactsOverride, type Wire, WIRES } from '../../vendors';
import { Column, Flag, Instant, Line, LineOrNone, Repeated, Settings, Usd, Whole, Words } from './fields';

export const NAME = 128;

/** The page that a form was sent from, so that the answer leads back to it. */
export class FromPage {
  @IsOptional()
  @IsString()
  @MaxLength(2_000)
  back?: string;

  /** The reason; it is stored in the activity log. */
  @IsOptional()
  @IsString()
  @MaxLength(500)
  reason?: string;
}

/** The version that the page showed; without one, concurrent edits are not detected. */
export class VersionedForm extends FromPage {
  @IsOptional()
  @IsString()
  @MaxLength(64)
  version?: string;
}

export class ModelForm extends FromPage {
  @Line(NAME)
  model: string;
}

/** Dollars, by the names of the rates in forms. */
export type RateFields = Partial<Record<RateField, string | null>>;

/** The form with a field for every rate. What is left out stays; empty clears a rate of its own. */
function withRates<Form extends new () => object>(form: Form): new () => InstanceType<Form> & RateFields {
  const priced = class extends (form as new () => object) {};
  for (const { field } of RATES) Usd()(priced.prototype, field);
  return priced as new () => InstanceType<Form> & RateFields;
}

export class PriceForm extends withRates(ModelForm) {
  /** The price that the page showed, 0 for none; a different price in force is a conflict. */
  @IsOptional()
  @Whole(0, 2_147_483_647)
  price_id?: number;
}

class LaneForm {
  @Line(NAME)
  provider: string;

  @Line(256)
  upstream_model: string;

  @Line(64)
  region: string;

  @IsOptional()
  @IsInt()
  @Whole(1, 1_000)
  weight?: number;

  @IsOptional()
  @Whole(0, 2)
  retries?: number;

  /** The known model that it serves under a name of its own. */
  @LineOrNone(NAME)
  facts?: string | null;

  @IsOptional() @IsIn([...WIRES, '']) wire?: Wire | '' | null;

  @IsOptional()
  @Flag()
  enabled?: boolean;
}

export class ModelChangeForm extends withFields(PriceForm, modelFields) {
  /** The model that answers what is too long for this one. */
  @LineOrNone(NAME)
  overflow_to?: string | null;

  /** The operator overrides the vendor's facts with these; their own rules read them later. */
  @IsOptional()
  @Settings()
  override facts?: FactsOverride;

  /** The chain of providers, the primary first. */
  @IsOptional()
  @IsArray()
  @ArrayMaxSize(64)
  @ValidateNested({ each: true })
  @Type(() => LaneForm)
  lanes?: LaneForm[];

  @Column()
  lane_provider?: string[];

  @Column()
  lane_model?: string[];

  @Column()
  lane_region?: string[];

  @Column()
  lane_weight?: string[];

  @Column()
  lane_retries?: string[];

  @Column()
  lane_facts?: string[];

  @Column()
  lane_wire?: string[];

  @Column()
  lane_enabled?: string[];

  @IsOptional()
  @IsString()
  @MaxLength(64)
  version?: string;
}

export class StateForm extends ModelForm {
  @IsIn(MODEL_STATES)
  state: ModelState;

  /** The version of the state that was shown; without one, nothing is compared. */
  @IsOptional()
  @IsString()
  @MaxLength(64)
  version?: string;
}

/** It names each model once, with one state for all of them or one state for each. */
export class BulkStateForm extends FromPage {
  @Repeated(500)
  model: string[];

  @Repeated(500)
  @IsIn(MODEL_STATES, { each: true })
  state: ModelState[];
}

export class RedirectForm extends ModelForm {
  @LineOrNone(NAME)
  redirect_to?: string | null;

  /** The version of the redirect that was shown; without one, nothing is compared. */
  @IsOptional()
  @IsString()
  @MaxLength(64)
  version?: string;
}

/** It holds either the names in their new order, or one model and its new place. */
export class OrderForm extends FromPage {
  @IsOptional()
  @Words(5_000)
  order?: string[];

  @IsOptional()
  @Line(NAME)
  model?: string;

  @IsOptional()
  @IsIn(['up', 'down'])
  move?: 'up' | 'down';

  /** It is counted from one. */
  @IsOptional()
  @Whole(1, 100_000)
  position?: number;
}

export class ReplayForm extends FromPage {
  @Flag()
  included: boolean;
}

export class ReasonForm extends FromPage {}

export class AliasForm extends ModelForm {
  @Line(NAME)
  alias: string;

  /** The version of the names that were shown; without one, nothing is compared. */
  @IsOptional()
  @IsString()
  @MaxLength(64)
  version?: string;
}

export class AliasRemovalForm extends FromPage {
  @Line(NAME)
  alias: string;

  /** The alias's target when the page was rendered. */
  @IsOptional()
  @Line(NAME)
  model?: string;
}

export class ScheduleForm extends withRates(VersionedForm) {
  /** The schedule to change; left out, a new one. */
  @IsOptional()
  @Whole(1, 2_147_483_647)
  id?: number;

  /** An existing version; without it, a version is made of the rates. */
  @IsOptional()
  @Whole(1, 2_147_483_647)
  price_id?: number;

  @IfGiven()
  @Instant()
  starts_at?: string;

  /** Left out, it means until further notice. */
  @IsOptional()
  @Instant()
  ends_at?: string | null;
}
