import type { SnippetTabsModel } from './models';

export interface SnippetValues {
  /** Distinguishes several sets of snippets on one page. */
  id: string;
  label: string;
  baseUrl: string;
  key: string;
  model: string;
}

/** What the code of a snippet is filled in with. */
interface Request extends Omit<SnippetValues, 'id' | 'label'> {
  readonly address: string;
}

/** One request, five ways to send it, with this deployment's own address filled in. */
export function requestSnippets({ id, label, ...values }: SnippetValues): SnippetTabsModel {
  const request = { ...values, address: `${values.baseUrl}/v1` };
  return {
    id,
    label,
    snippets: [
      { id: 'curl', label: 'curl', code: curl(request) },
      { id: 'python', label: 'Python', code: python(request) },
      { id: 'typescript', label: 'TypeScript', code: typescript(request) },
      { id: 'claude-code', label: 'Claude Code', code: claudeCode(request) },
      { id: 'codex', label: 'Codex', code: codex(request) },
    ],
  };
}

const curl = ({ address, key, model }: Request): string =>
  `curl ${address}/chat/completions \\
  -H "Authorization: Bearer ${key}" \\
  -H "Content-Type: application/json" \\
  -d '{
    "model": "${model}",
    "messages": [{"role": "user", "content": "Hello"}]
  }'`;

const python = ({ address, key, model }: Request): string =>
  `from openai import OpenAI

client = OpenAI(base_url="${address}", api_key="${key}")
answer = client.chat.completions.create(
    model="${model}",
    messages=[{"role": "user", "content": "Hello"}],
)
print(answer.choices[0].message.content)`;

const typescript = ({ address, key, model }: Request): string =>
  `import OpenAI from 'openai';

const client = new OpenAI({ baseURL: '${address}', apiKey: '${key}' });
const answer = await client.chat.completions.create({
  model: '${model}',
  messages: [{ role: 'user', content: 'Hello' }],
});
console.log(answer.choices[0].message.content);`;

const claudeCode = ({ baseUrl, key }: Request): string =>
  `export ANTHROPIC_BASE_URL="${baseUrl}"
export ANTHROPIC_AUTH_TOKEN="${key}"
unset ANTHROPIC_API_KEY
claude`;

const codex = ({ address, key, model }: Request): string =>
  `# ~/.codex/config.toml, with SVC_API_KEY="${key}" in the environment
model = "${model}"
model_provider = "svc"

[model_providers.svc]
name = "svc"
base_url = "${address}/native"
env_key = "SVC_API_KEY"
wire_api = "responses"`;
