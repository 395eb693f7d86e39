import { line, oneOf, rowId, truth, whole } from '../../kernel';
import { Takes } from '../../platform';
import { availabilities, type QualitySettings } from '../../quality';
import { AutoForm } from '../../autorouter';

export class OrganisationAutorouterForm extends AutoForm {
  /** Without it, the form means the organisation that the administration's view shows. */
  @Takes(rowId.orBlank())
  org_id?: number;
}

export class KeyAutorouterForm extends AutoForm {
  @Takes(rowId)
  key_id: number;
}

/** The answer has the part of automatic routing, or null. Its version is of the settings that it changes first. */
export function autoPartOf(form: QualitativeForm): AutoForm | null {
  const given = autoFields.filter((name) => form[name] !== undefined);
  return given.length === 0 ? null : Object.fromEntries(given.map((name) => [name, form[name]]));
}

/** The form's part of quality reports leaves out the judge, whose name is checked. */
export function qualityPartOf(form: QualitativeForm): Partial<QualitySettings> {
  const given = qualityFields.filter((name) => form[name] !== undefined);
  return Object.fromEntries(given.map((name) => [name, form[name]]));
}

const qualityFields = [
  'availability',
  'sampling_percent',
  'sample_named',
  'replay',
  'monthly_budget',
  'content_retention_days',
  'redaction',
] as const satisfies readonly (keyof QualitySettings)[];

const autoFields = [
  'mode',
  'algorithm',
  'dial',
  'reference_model',
  'include',
  'exclude',
  'min_quality',
  'max_cost_per_request',
  'latency_target_ms',
  'stickiness',
  'stickiness_minutes',
  'fallback_model',
  'locked',
] as const satisfies readonly (keyof AutoForm)[];

/** It sets quality reports, and automatic routing beside them. */
export class QualitativeForm extends AutoForm {
  @Takes(rowId.orBlank())
  org_id?: number;

  @Takes(oneOf(availabilities).orBlank())
  availability?: QualitySettings['availability'];

  @Takes(whole(0, 100).orBlank())
  sampling_percent?: number;

  /** Requests that name their model are sampled as well. */
  @Takes(truth.orBlank())
  sample_named?: boolean;

  @Takes(truth.orBlank())
  replay?: boolean;

  /** It is in whole US dollars a calendar month. */
  @Takes(whole(0, 100_000).orBlank())
  monthly_budget?: number;

  /** It is empty for the dearest that the organisation may call. */
  @Takes(line(200).optional())
  judge_model?: string;

  @Takes(whole(0, 30).orBlank())
  content_retention_days?: number;

  @Takes(truth.orBlank())
  redaction?: boolean;

  /** It is about this key alone: whether its requests are kept out of every evaluation. */
  @Takes(rowId.orBlank())
  key_id?: number;

  @Takes(truth.orBlank())
  excluded?: boolean;
}
