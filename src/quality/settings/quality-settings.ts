export const availabilities = ['off', 'admins', 'everyone'] as const;

/** What an organisation decides about the judging of its answers. */
export interface QualitySettings {
  /** Who reads the reports; off also means that nothing is sampled. */
  readonly availability: (typeof availabilities)[number];
  readonly sampling_percent: number;
  /** Also requests that name their model. */
  readonly sample_named: boolean;
  /** Other models answer what was sampled too. */
  readonly replay: boolean;
  /** What replays and judgements may cost in a calendar month, in dollars. */
  readonly monthly_budget: number;
  /** Null: the dearest model that the organisation may call. */
  readonly judge_model: string | null;
  readonly content_retention_days: number;
  readonly redaction: boolean;
  /** Of a key: its requests are never sampled. */
  readonly excluded: boolean;
}

export const usualQualitySettings: QualitySettings = {
  availability: 'off',
  sampling_percent: 0,
  sample_named: false,
  replay: true,
  monthly_budget: 10,
  judge_model: null,
  content_retention_days: 0,
  redaction: true,
  excluded: false,
};

export const isSampling = ({ availability, sampling_percent: percent }: QualitySettings): boolean =>
  availability !== 'off' && percent > 0;
