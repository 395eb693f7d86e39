import { textOf } from '../json';
import { isPresent, type Refusal, type VendorRule } from './rule';

export interface XaiModel {
  readonly vendor: 'xai';
  readonly id: string;
  readonly efforts: readonly string[];
}

const upToHigh = ['low', 'medium', 'high'];

/** https://docs.x.ai/developers/grok-4-7 and its neighbouring pages. */
export const xaiModels: readonly XaiModel[] = [
  { vendor: 'xai', id: 'grok-4.7', efforts: [...upToHigh, 'xhigh'] },
  { vendor: 'xai', id: 'grok-4.5', efforts: upToHigh },
  { vendor: 'xai', id: 'grok-4.3', efforts: ['none', ...upToHigh] },
  { vendor: 'xai', id: 'grok-4.20', efforts: [] },
  { vendor: 'xai', id: 'grok-4.20-0309-non-reasoning', efforts: [] },
];

const refusal = (error: string): Refusal => ({
  status: 400,
  body: { code: 'Client specified an invalid argument', error },
});

const rejectedFields: Readonly<Record<string, string>> = {
  presence_penalty: 'presencePenalty',
  frequency_penalty: 'frequencyPenalty',
  stop: 'stop',
};

export const xaiRules: readonly VendorRule<XaiModel>[] = [
  {
    name: 'penalties and stop',
    source: 'https://github.com/miaoxworld/NativeTavern/issues/83',
    refuses: ({ body }, { id }) => {
      const rejectedField = Object.keys(rejectedFields).find((name) => isPresent(body, name));
      return rejectedField === undefined
        ? undefined
        : refusal(`Model ${id} does not support parameter ${rejectedFields[rejectedField]}.`);
    },
  },
  {
    name: 'an effort that the model does not have',
    source: 'https://github.com/BerriAI/litellm/pull/16265; words for one value of several recalled',
    refuses: ({ body }, { id, efforts }) => {
      if (!isPresent(body, 'reasoning_effort')) return undefined;
      if (efforts.length === 0) return refusal(`Model ${id} does not support parameter reasoningEffort.`);
      return efforts.includes(textOf(body['reasoning_effort']))
        ? undefined
        : refusal(`Model ${id} does not support reasoning effort ${textOf(body['reasoning_effort'])}.`);
    },
  },
];
