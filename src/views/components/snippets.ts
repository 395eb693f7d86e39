import type { SnippetTabsModel } from './models';

export interface SnippetValues {
  /** Distinguishes several sets of snippets on one page. */
  id: string;
  label: string;
  baseUrl: string;
  key: string;
  model: string;
  /** Model that agents use for their main work. */
  largeModel: string;
}

interface SnippetRequest extends Omit<SnippetValues, 'id' | 'label'> {
  readonly address: string;
}

/** Shows one request in five clients, with the address of this deployment filled in. */
export function requestSnippets({ id, label, ...values }: SnippetValues): SnippetTabsModel {
  const request = { ...values, address: `${values.baseUrl}/v1` };
  return {
    id,
    label,
    snippets: [
      { id: 'curl', label: 'curl', code: curl(request) },
      { id: 'python', label: 'Python', code: python(request) },
      { id: 'typescript', label: 'TypeScript', code: typescript(request) },
      { id: 'claude-code', label: 'Claude Code', code: `${claudeCodeSettings(values)}\nclaude` },
      { id: 'codex', label: 'Codex', code: codex(values) },
    ],
  };
}

const curl = ({ address, key, model }: SnippetRequest): string =>
  `curl ${address}/chat/completions \\
  -H "Authorization: Bearer ${key}" \\
  -H "Content-Type: application/json" \\
  -d '{
    "model": "${model}",
    "messages": [{"role": "user", "content": "Hello"}]
  }'`;

const python = ({ address, key, model }: SnippetRequest): string =>
  `from openai import OpenAI

client = OpenAI(base_url="${address}", api_key="${key}")
answer = client.chat.completions.create(
    model="${model}",
    messages=[{"role": "user", "content": "Hello"}],
)
print(answer.choices[0].message.content)`;

const typescript = ({ address, key, model }: SnippetRequest): string =>
  `import OpenAI from 'openai';

const client = new OpenAI({ baseURL: '${address}', apiKey: '${key}' });
const answer = await client.chat.completions.create({
  model: '${model}',
  messages: [{ role: 'user', content: 'Hello' }],
});
console.log(answer.choices[0].message.content);`;

export const claudeCodeSettings = ({
  baseUrl,
  key,
  model,
  largeModel,
}: Pick<SnippetRequest, 'baseUrl' | 'key' | 'model' | 'largeModel'>): string =>
  `export ANTHROPIC_BASE_URL="${baseUrl}"
export ANTHROPIC_AUTH_TOKEN="${key}"
export ANTHROPIC_MODEL="${largeModel}"
export ANTHROPIC_DEFAULT_HAIKU_MODEL="${model}"
unset ANTHROPIC_API_KEY`;

export const codexSettings = ({
  baseUrl,
  largeModel,
}: Pick<SnippetRequest, 'baseUrl' | 'largeModel'>): string =>
  `model = "${largeModel}"
model_provider = "svc"
web_search = "disabled"

[model_providers.svc]
name = "svc"
base_url = "${baseUrl}/v1"
env_key = "SVC_API_KEY"
wire_api = "responses"`;

const codex = (values: Pick<SnippetRequest, 'baseUrl' | 'key' | 'largeModel'>): string =>
  `# ~/.codex/config.toml, with SVC_API_KEY="${values.key}" in the environment
${codexSettings(values)}`;
