/**
 * The program's version, from package.json alone.
 */
import packageFile from '../package.json' with { type: 'json' };

export const VERSION: string = packageFile.version;
