import type { SnippetTabsModel } from './models';

export interface SnippetValues {
  /** Distinguishes several sets of snippets on one page. */
  id: string;
  label: string;
  baseUrl: string;
  key: string;
  model: string;
}

/** One request, five ways to send it, with this deployment's own address filled in. */
export function requestSnippets({ id, label, baseUrl, key, model }: SnippetValues): SnippetTabsModel {
  const address = `${baseUrl}/v1`;
  return {
    id,
    label,
    snippets: [
      {
        id: 'curl',
        label: 'curl',
        code: `curl ${address}/chat/completions \\
  -H "Authorization: Bearer ${key}" \\
  -H "Content-Type: application/json" \\
  -d '{
    "model": "${model}",
    "messages": [{"role": "user", "content": "Hello"}]
  }'`,
      },
      {
        id: 'python',
        label: 'Python',
        code: `from openai import OpenAI

client = OpenAI(base_url="${address}", api_key="${key}")
answer = client.chat.completions.create(
    model="${model}",
    messages=[{"role": "user", "content": "Hello"}],
)
print(answer.choices[0].message.content)`,
      },
      {
        id: 'typescript',
        label: 'TypeScript',
        code: `import OpenAI from 'openai';

const client = new OpenAI({ baseURL: '${address}', apiKey: '${key}' });
const answer = await client.chat.completions.create({
  model: '${model}',
  messages: [{ role: 'user', content: 'Hello' }],
});
console.log(answer.choices[0].message.content);`,
      },
      {
        id: 'claude-code',
        label: 'Claude Code',
        code: `export ANTHROPIC_BASE_URL="${baseUrl}"
export ANTHROPIC_AUTH_TOKEN="${key}"
unset ANTHROPIC_API_KEY
claude`,
      },
      {
        id: 'codex',
        label: 'Codex',
        code: `# ~/.codex/config.toml, with SVC_API_KEY="${key}" in the environment
model = "${model}"
model_provider = "svc"

[model_providers.svc]
name = "svc"
base_url = "${address}/native"
env_key = "SVC_API_KEY"
wire_api = "responses"`,
      },
    ],
  };
}
