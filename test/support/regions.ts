import type { TestApp } from './app';

/** Declares regions through a provider that serves no model. */
export const declareRegions = (database: TestApp['database'], ...regions: string[]): Promise<unknown> =>
  database.query(
    `INSERT INTO provider (name, style, base_url, regions) VALUES ($1, 'openai-style', 'https://unused.example', $2)`,
    [`unused ${regions.join(' ')}`, regions],
  );
