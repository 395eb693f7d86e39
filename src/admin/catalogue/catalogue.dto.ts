import { Type } from 'class-transformer';
import {
  ArrayMaxSize,
  IsArray,
  IsIn,
  IsInt,
  IsOptional,
  IsString,
  MaxLength,
  ValidateNested,
  IfPresent,
  IsCheckbox,
  IsInstantText,
  IsIntBetween,
  IsLine,
  IsRepeatedText,
  IsSettingsObject,
  IsTextList,
  IsUsdRate,
  withFields,
} from '../../web';
import { MODEL_STATES, modelFields, type ModelState } from '../../catalogue';
import { type RateField, RATES } from '../../kernel';
import { type FactsOverride, type Wire, WIRES } from '../../vendors';

export const MAX_NAME_LENGTH = 128;

/** Carries the page that a form was sent from, so that the response leads back to it. */
export class FromPage {
  @IsOptional()
  @IsString()
  @MaxLength(2_000)
  back?: string;

  @IsOptional()
  @IsString()
  @MaxLength(500)
  reason?: string;
}

/** Version that the page showed; without one, concurrent edits are not detected. */
export class VersionedForm extends FromPage {
  @IsOptional()
  @IsString()
  @MaxLength(64)
  version?: string;
}

export class ModelForm extends FromPage {
  @IsLine(MAX_NAME_LENGTH)
  model: string;
}

export type RateFields = Partial<Record<RateField, string | null>>;

/** Adds a field for every rate to a form. An omitted rate stays; an empty one clears the rate. */
function withRates<Form extends new () => object>(form: Form): new () => InstanceType<Form> & RateFields {
  const priced = class extends (form as new () => object) {};
  for (const { field } of RATES) IsUsdRate()(priced.prototype, field);
  return priced as new () => InstanceType<Form> & RateFields;
}

export class PriceForm extends withRates(ModelForm) {
  /** Price that the page showed, 0 for none; a different price in force is a conflict. */
  @IsOptional()
  @IsIntBetween(0, 2_147_483_647)
  price_id?: number;
}

class LaneForm {
  @IsLine(MAX_NAME_LENGTH)
  provider: string;

  @IsLine(256)
  upstream_model: string;

  @IsLine(64)
  region: string;

  @IsOptional()
  @IsInt()
  @IsIntBetween(1, 1_000)
  weight?: number;

  @IsOptional()
  @IsIntBetween(0, 2)
  retries?: number;

  /** Known model whose facts apply, if the lane serves it under a different name. */
  @IsLine(MAX_NAME_LENGTH, { clearable: true })
  facts?: string | null;

  @IsOptional() @IsIn([...WIRES, '']) wire?: Wire | '' | null;

  @IsOptional()
  @IsCheckbox()
  enabled?: boolean;
}

export class ModelChangeForm extends withFields(PriceForm, modelFields) {
  /** Model that serves requests too long for this one. */
  @IsLine(MAX_NAME_LENGTH, { clearable: true })
  overflow_to?: string | null;

  @IsOptional()
  @IsSettingsObject()
  override facts?: FactsOverride;

  /** Providers in order of preference, the primary first. */
  @IsOptional()
  @IsArray()
  @ArrayMaxSize(64)
  @ValidateNested({ each: true })
  @Type(() => LaneForm)
  lanes?: LaneForm[];

  @IsOptional() @IsRepeatedText(64) lane_provider?: string[];
  @IsOptional() @IsRepeatedText(64) lane_model?: string[];
  @IsOptional() @IsRepeatedText(64) lane_region?: string[];
  @IsOptional() @IsRepeatedText(64) lane_weight?: string[];
  @IsOptional() @IsRepeatedText(64) lane_retries?: string[];
  @IsOptional() @IsRepeatedText(64) lane_facts?: string[];
  @IsOptional() @IsRepeatedText(64) lane_wire?: string[];
  @IsOptional() @IsRepeatedText(64) lane_enabled?: string[];
  @IsOptional()
  @IsString()
  @MaxLength(64)
  version?: string;
}

export class StateForm extends ModelForm {
  @IsIn(MODEL_STATES)
  state: ModelState;

  @IsOptional()
  @IsString()
  @MaxLength(64)
  version?: string;
}

/** Names each model once, with one state for all models or one state each. */
export class BulkStateForm extends FromPage {
  @IsRepeatedText(500)
  model: string[];

  @IsRepeatedText(500)
  @IsIn(MODEL_STATES, { each: true })
  state: ModelState[];
}

export class RedirectForm extends ModelForm {
  @IsLine(MAX_NAME_LENGTH, { clearable: true })
  redirect_to?: string | null;

  @IsOptional()
  @IsString()
  @MaxLength(64)
  version?: string;
}

/** Holds either all names in their new order, or one model and its new position. */
export class OrderForm extends FromPage {
  @IsOptional()
  @IsTextList(5_000)
  order?: string[];

  @IsOptional()
  @IsLine(MAX_NAME_LENGTH)
  model?: string;

  @IsOptional()
  @IsIn(['up', 'down'])
  move?: 'up' | 'down';

  /** Counted from one. */
  @IsOptional()
  @IsIntBetween(1, 100_000)
  position?: number;
}

export class ReplayForm extends FromPage {
  @IsCheckbox()
  included: boolean;
}

export class ReasonForm extends FromPage {}

export class AliasForm extends ModelForm {
  @IsLine(MAX_NAME_LENGTH)
  alias: string;

  @IsOptional()
  @IsString()
  @MaxLength(64)
  version?: string;
}

export class AliasRemovalForm extends FromPage {
  @IsLine(MAX_NAME_LENGTH)
  alias: string;

  /** Target of the alias when the page was rendered. */
  @IsOptional()
  @IsLine(MAX_NAME_LENGTH)
  model?: string;
}

export class ScheduleForm extends withRates(VersionedForm) {
  /** Schedule to change; a new one is created if omitted. */
  @IsOptional()
  @IsIntBetween(1, 2_147_483_647)
  id?: number;

  /** Existing price; if omitted, a price is created from the rates. */
  @IsOptional()
  @IsIntBetween(1, 2_147_483_647)
  price_id?: number;

  @IfPresent()
  @IsInstantText()
  starts_at?: string;

  /** No end if omitted. */
  @IsOptional()
  @IsInstantText()
  ends_at?: string | null;
}
