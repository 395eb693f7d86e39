export const availabilities = ['off', 'admins', 'everyone'] as const;

/** An organisation decides these about the judging of its answers. */
export interface QualitySettings {
  /** These people read the reports; off also means that nothing is sampled. */
  readonly availability: (typeof availabilities)[number];
  readonly sampling_percent: number;
  /** Requests that name their model are sampled as well. */
  readonly sample_named: boolean;
  /** Other models answer what was sampled too. */
  readonly replay: boolean;
  /** Replays and judgements may cost so many dollars in a calendar month. */
  readonly monthly_budget: number;
  /** Null means the dearest model that the organisation may call. */
  readonly judge_model: string | null;
  readonly content_retention_days: number;
  readonly redaction: boolean;
  /** Requests of such a key are never sampled. */
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

/** The operator lets organisations have at most these settings of the platform. */
export type QualityEnvelope = Pick<QualitySettings, 'availability' | 'monthly_budget'>;

/** It holds as long as the operator sets nothing else. */
const usualEnvelope: QualityEnvelope = { availability: 'everyone', monthly_budget: 100 };

export const isEnvelopeField = (name: string): name is keyof QualityEnvelope => name in usualEnvelope;

export const envelopeOf = (platform: Partial<QualitySettings> | undefined): QualityEnvelope => ({
  availability: platform?.availability ?? usualEnvelope.availability,
  monthly_budget: platform?.monthly_budget ?? usualEnvelope.monthly_budget,
});

/** An organisation's settings as they count. */
export function withinEnvelope(settings: QualitySettings, envelope: QualityEnvelope): QualitySettings {
  const breadth = Math.min(
    availabilities.indexOf(settings.availability),
    availabilities.indexOf(envelope.availability),
  );
  return {
    ...settings,
    availability: availabilities[breadth] ?? 'off',
    monthly_budget: Math.min(settings.monthly_budget, envelope.monthly_budget),
  };
}

/** Settings are an organisation's, a key's, or, where both are null, the platform's. */
export interface QualityOwner {
  readonly organisationId: number | null;
  readonly keyId: number | null;
}
