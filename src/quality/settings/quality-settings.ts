export const availabilities = ['off', 'admins', 'everyone'] as const;

export interface QualitySettings {
  /** Who can read the reports; `off` also means that nothing is sampled. */
  readonly availability: (typeof availabilities)[number];
  readonly sampling_percent: number;
  readonly sample_named: boolean;
  readonly replay: boolean;
  /** Maximum cost of replays and judgements per calendar month, in dollars. */
  readonly monthly_budget: number;
  /** Null for the most expensive model that the organisation is allowed to call. */
  readonly judge_model: string | null;
  readonly content_retention_days: number;
  readonly redaction: boolean;
  /** Requests of an excluded key are never sampled. */
  readonly excluded: boolean;
}

export const defaultQualitySettings: QualitySettings = {
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

export type QualityEnvelope = Pick<QualitySettings, 'availability' | 'monthly_budget'>;

/** Applies unless the operator sets a maximum. */
const defaultEnvelope: QualityEnvelope = { availability: 'everyone', monthly_budget: 100 };

export const isEnvelopeField = (name: string): name is keyof QualityEnvelope => name in defaultEnvelope;

export const envelopeOf = (platform: Partial<QualitySettings> | undefined): QualityEnvelope => ({
  availability: platform?.availability ?? defaultEnvelope.availability,
  monthly_budget: platform?.monthly_budget ?? defaultEnvelope.monthly_budget,
});

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

/** Owner of settings: an organisation, a key, or the platform if both are null. */
export interface QualityOwner {
  readonly organisationId: number | null;
  readonly keyId: number | null;
}
