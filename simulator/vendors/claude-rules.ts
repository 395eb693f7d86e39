import { listOf, numberOf, objectOf, textOf, type JsonObject } from '../json';
import { claudeThinks, type ClaudeModel } from './claude-models';
import { claudeRefusal } from './claude-refusal';
import { claudeSchemaRules } from './claude-schemas';
import { readSeal, sealExpected, type SealState } from './claude-signatures';
import { isPresent, type VendorRule, type VendorCall } from './rule';

const DOCS = 'https://platform.claude.com/docs/en';
const DROP_BETA = 'thinking-binding-controls-2026-08-01';

const thinkingOf = (body: JsonObject): JsonObject => objectOf(body['thinking']);
const effortOf = (body: JsonObject): unknown => objectOf(body['output_config'])['effort'];
const forcesTool = (body: JsonObject): boolean =>
  ['any', 'tool'].includes(textOf(objectOf(body['tool_choice'])['type']));

const requestRules: readonly VendorRule<ClaudeModel>[] = [
  {
    name: 'a type of thinking that the model does not have',
    source: `${DOCS}/models/opus-5-5/whats-new-opus-5-5`,
    refuses: ({ body }, { thinking }) => {
      const { type } = thinkingOf(body);
      if (type === undefined || thinking.includes(textOf(type))) return undefined;
      const hint =
        type === 'enabled'
          ? ' Use "thinking.type.adaptive" and "output_config.effort" to control thinking behavior.'
          : '';
      return claudeRefusal(`"thinking.type.${textOf(type)}" is not supported for this model.${hint}`);
    },
  },
  {
    name: 'an effort that the model does not have',
    source: 'https://github.com/anthropics/claude-code/issues/80995',
    refuses: ({ body }, { efforts }) => {
      const effort = effortOf(body);
      if (effort === undefined || efforts.includes(textOf(effort))) return undefined;
      return claudeRefusal(
        efforts.length === 0
          ? 'This model does not support the effort parameter.'
          : `output_config.effort: Input should be ${efforts.map((value) => `'${value}'`).join(', ')}`,
      );
    },
  },
  {
    name: 'an effort above high without thinking',
    source: 'https://github.com/anthropics/claude-code/issues/81084',
    refuses: ({ body }, { capsEffort }) => {
      const effort = textOf(effortOf(body));
      if (!capsEffort || thinkingOf(body)['type'] !== 'disabled' || !['xhigh', 'max'].includes(effort))
        return undefined;
      return claudeRefusal(
        `output_config.effort '${effort}' is not supported when thinking is disabled on this model. ` +
          "Use effort 'high' or below, or enable thinking.",
      );
    },
  },
  {
    name: 'sampling that the model does not take',
    source: 'https://github.com/earendil-works/pi/pull/5251',
    refuses: ({ body }, { takesSampling }) => {
      if (takesSampling) return undefined;
      const defaults: Readonly<Record<string, unknown>> = { temperature: 1, top_p: 1 };
      const field = ['temperature', 'top_p', 'top_k'].find(
        (name) => isPresent(body, name) && body[name] !== defaults[name],
      );
      return field === undefined ? undefined : claudeRefusal(`\`${field}\` is deprecated for this model.`);
    },
  },
  {
    name: 'two kinds of sampling at once',
    source: 'https://github.com/anthropics/skills/blob/main/skills/claude-api/shared/model-migration.md',
    refuses: ({ body }, { takesSampling }) =>
      takesSampling && isPresent(body, 'temperature') && isPresent(body, 'top_p')
        ? claudeRefusal(
            '`temperature` and `top_p` cannot both be specified for this model. Please use only one.',
          )
        : undefined,
  },
  {
    name: 'a temperature beside thinking',
    source: `${DOCS}/build-with-claude/extended-thinking`,
    refuses: ({ body }, { takesSampling }) => {
      const isThinking = ['enabled', 'adaptive'].includes(textOf(thinkingOf(body)['type']));
      if (!takesSampling || !isThinking) return undefined;
      return isPresent(body, 'temperature') && body['temperature'] !== 1
        ? claudeRefusal(
            '`temperature` may only be set to 1 when thinking is enabled. Please consult our documentation at ' +
              'https://docs.claude.com/en/docs/build-with-claude/extended-thinking',
          )
        : undefined;
    },
  },
  {
    name: 'a forced tool',
    source: `${DOCS}/models/opus-5-5/whats-new-opus-5-5`,
    refuses: ({ body }, { takesForcedTools }) =>
      !takesForcedTools && forcesTool(body)
        ? claudeRefusal('tool_choice: type "tool" and "any" are not supported for this model.')
        : undefined,
  },
  {
    name: 'a forced tool beside thinking',
    source: `${DOCS}/build-with-claude/extended-thinking`,
    refuses: ({ body }, { takesForcedTools }) =>
      takesForcedTools && thinkingOf(body)['type'] === 'enabled' && forcesTool(body)
        ? claudeRefusal('Thinking may not be enabled when tool_choice forces tool use.')
        : undefined,
  },
  {
    name: 'a last message of the assistant',
    source: 'https://github.com/langchain-ai/deepagents/issues/1585',
    refuses: ({ body }, { takesPrefill }) =>
      !takesPrefill && objectOf(listOf(body['messages']).at(-1))['role'] === 'assistant'
        ? claudeRefusal(
            'This model does not support assistant message prefill. The conversation must end with a user message.',
          )
        : undefined,
  },
  {
    name: 'more output than the model writes',
    source: `${DOCS}/models/sonnet-4-5/overview.md`,
    refuses: ({ body }, { id, maxOutputTokens: mostOutput }) => {
      const limit = numberOf(body['max_tokens']) ?? 0;
      return limit > mostOutput
        ? claudeRefusal(
            `max_tokens: ${limit} > ${mostOutput}, which is the maximum allowed number of output tokens for ${id}`,
          )
        : undefined;
    },
  },
  {
    name: 'a budget below the least or not below max_tokens',
    source: `${DOCS}/build-with-claude/extended-thinking`,
    refuses: ({ body }) => {
      const { type, budget_tokens: budget } = thinkingOf(body);
      if (type !== 'enabled') return undefined;
      if (!(Number(budget) >= 1_024))
        return claudeRefusal('thinking.enabled.budget_tokens: Input should be greater than or equal to 1024');
      return Number(budget) < Number(body['max_tokens'])
        ? undefined
        : claudeRefusal(
            '`max_tokens` must be greater than `thinking.budget_tokens`. Please consult our documentation at ' +
              'https://docs.claude.com/en/docs/build-with-claude/extended-thinking' +
              '#max-tokens-and-context-window-size',
          );
    },
  },
];

interface PlacedBlock {
  readonly block: JsonObject;
  readonly index: number;
  readonly at: string;
}

/** Returns all thinking blocks of the conversation with their positions. */
function thinkingBlocks(body: JsonObject): readonly PlacedBlock[] {
  return listOf(body['messages']).flatMap((message, index) =>
    listOf(objectOf(message)['content'])
      .map(objectOf)
      .map((block, at) => ({ block, index, at: `messages.${index}.content.${at}` }))
      .filter(({ block }) => block['type'] === 'thinking'),
  );
}

/** Whether the request allows blocks of another conversation to be dropped. */
function dropsForeignBlocks({ body, headers }: VendorCall): boolean {
  const mismatchBehaviour = objectOf(thinkingOf(body)['block_binding'])['prefix_mismatch_behavior'];
  return mismatchBehaviour === 'drop_block' && String(headers['anthropic-beta'] ?? '').includes(DROP_BETA);
}

function findBlockInState(call: VendorCall, states: readonly SealState[]): PlacedBlock | undefined {
  return thinkingBlocks(call.body).find(({ block, index }) =>
    states.includes(readSeal(textOf(block['signature']), sealExpected(call.body, call.key, index, block))),
  );
}

const conversationRules: readonly VendorRule<ClaudeModel>[] = [
  {
    name: 'thinking without a signature of the vendor',
    source: 'https://github.com/ENTERPILOT/GoModel/issues/964',
    refuses: (call) => {
      const block = findBlockInState(call, ['unknown']);
      return block && claudeRefusal(`${block.at}: Invalid \`signature\` in \`thinking\` block`);
    },
  },
  {
    name: 'thinking that was altered',
    source: 'https://github.com/anthropics/claude-code/issues/63412',
    refuses: (call) => {
      const block = findBlockInState(call, ['altered']);
      return (
        block &&
        claudeRefusal(
          `${block.at}: \`thinking\` or \`redacted_thinking\` blocks in the latest assistant message cannot be ` +
            'modified. These blocks must remain as they were in the original response.',
        )
      );
    },
  },
  {
    name: 'thinking of another conversation',
    source: 'https://github.com/anomalyco/opencode/issues/48637',
    refuses: (call, { bindsThinking }) => {
      if (!bindsThinking || dropsForeignBlocks(call)) return undefined;
      const block = findBlockInState(call, ['moved']);
      return (
        block &&
        claudeRefusal(
          `${block.at}: Invalid \`signature\` in \`thinking\` block. The block is bound to a different ` +
            'conversation. Remove the block, or set `thinking.block_binding.prefix_mismatch_behavior` to ' +
            `"drop_block". That setting requires the \`${DROP_BETA}\` value in the \`anthropic-beta\` header.`,
        )
      );
    },
  },
  {
    name: 'a round of tools that does not begin with thinking',
    source: 'https://github.com/anthropics/claude-code/issues/20692',
    refuses: ({ body }) => {
      if (thinkingOf(body)['type'] !== 'enabled') return undefined;
      const messages = listOf(body['messages']).map(objectOf);
      const index = messages.findLastIndex(({ role }) => role === 'assistant');
      const blocks = listOf(messages[index]?.['content']).map(objectOf);
      const isToolRound = blocks.some(({ type }) => type === 'tool_use');
      const first = textOf(blocks[0]?.['type']);
      if (!isToolRound || first === 'thinking' || first === 'redacted_thinking') return undefined;
      return claudeRefusal(
        `messages.${index}.content.0.type: Expected \`thinking\` or \`redacted_thinking\`, but found \`${first}\`. ` +
          'When `thinking` is enabled, a final `assistant` message must start with a thinking block (preceeding ' +
          'the lastmost set of `tool_use` and `tool_result` blocks). We recommend you include thinking blocks ' +
          'from previous turns. To avoid this requirement, disable `thinking`. Please consult our documentation ' +
          'at https://docs.claude.com/en/docs/build-with-claude/extended-thinking',
      );
    },
  },
  {
    name: 'an id of a tool call with other characters',
    source: 'https://github.com/ENTERPILOT/GoModel/issues/964',
    refuses: ({ body }) => {
      for (const [index, message] of listOf(body['messages']).map(objectOf).entries()) {
        for (const [at, block] of listOf(message['content']).map(objectOf).entries()) {
          if (block['type'] !== 'tool_use' || /^[a-zA-Z0-9_-]+$/.test(textOf(block['id']))) continue;
          return claudeRefusal(
            `messages.${index}.content.${at}.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'`,
          );
        }
      }
      return undefined;
    },
  },
];

export const claudeRules: readonly VendorRule<ClaudeModel>[] = [
  ...requestRules,
  ...claudeSchemaRules,
  ...conversationRules,
];

/** Returns whether the response to this request thinks, and whether the thinking is readable. */
export function claudeThinking(body: JsonObject, model: ClaudeModel): { thinks: boolean; shows: boolean } {
  const { type, display } = thinkingOf(body);
  return {
    thinks: claudeThinks(model, type),
    shows: !model.hidesThinking || display === 'summarized',
  };
}
