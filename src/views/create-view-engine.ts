import type { ViewEngine, ViewEngineOptions } from './view-engine';

/** Templates and their packages are loaded with the first engine: a node without pages has none of them. */
export async function createViewEngine(options: ViewEngineOptions): Promise<ViewEngine> {
  const { createTemplateEngine } = await import('./template-engine.js');
  return createTemplateEngine(options);
}

/** For a node without pages, where nothing is rendered. */
export const noViewEngine = (): ViewEngine => {
  const refuse = (): never => {
    throw new Error('this node serves no pages');
  };
  return { render: refuse, translator: refuse, attach: refuse };
};
