/* Kernels compiled ahead: arguments are checked and handed to compiled code, results become objects.

   A kernel's arguments and its result are described by a few characters: A kind size dimensions
   layout access for an array, S kind size for a number, T members class for a tuple, N for nothing.
   Compiled code takes them flat, in slots of 8 bytes, and of an array what numba has of it. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#define NPY_NO_DEPRECATED_API NPY_1_20_API_VERSION
#include <numpy/arrayobject.h>
#include <numpy/arrayscalars.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "ahead.h"

/* Memory, as numba's compiled code asks for it. It counts references itself, by the first member,
   and finds the data by the fourth. */

typedef void (*Release)(void *data, size_t size, void *more);

typedef struct {
    atomic_size_t n_references;
    Release release;
    void *more;
    void *data;
    size_t size;
} Memory;

#define HIDDEN __attribute__((visibility("hidden")))

HIDDEN void *NRT_Allocate(size_t size) { return malloc(size); }

HIDDEN void NRT_Free(void *data) { free(data); }

HIDDEN Memory *NRT_MemInfo_alloc_aligned(size_t size, unsigned align)
{
    size_t room = align ? align : 1;
    Memory *made = size > PTRDIFF_MAX - sizeof(Memory) - room
                       ? NULL
                       : malloc(sizeof(Memory) + room + size);
    if (made == NULL)
        return NULL;
    uintptr_t data = (uintptr_t)(made + 1);
    data += (room - data % room) % room;
    atomic_init(&made->n_references, 1);
    made->release = NULL;
    made->more = NULL;
    made->data = (void *)data;
    made->size = size;
    return made;
}

HIDDEN Memory *NRT_MemInfo_alloc(size_t size) { return NRT_MemInfo_alloc_aligned(size, 0); }

HIDDEN void NRT_MemInfo_call_dtor(Memory *memory)
{
    if (memory->release != NULL)
        memory->release(memory->data, memory->size, memory->more);
    free(memory);
}

/* Lists: their data is on its own, so that it can grow; `more` releases what its items hold. */

static void release_list(void *data, size_t Py_UNUSED(size), void *more)
{
    if (more != NULL)
        ((void (*)(void *))more)(data);
    free(data);
}

HIDDEN Memory *NRT_MemInfo_new_varsize_dtor(size_t size, void *more)
{
    Memory *made = malloc(sizeof(Memory));
    void *data = malloc(size);
    if (made == NULL || data == NULL) {
        free(made);
        free(data);
        return NULL;
    }
    atomic_init(&made->n_references, 1);
    made->release = release_list;
    made->more = more;
    made->data = data;
    made->size = size;
    return made;
}

HIDDEN void *NRT_MemInfo_varsize_realloc(Memory *memory, size_t size)
{
    void *data = realloc(memory->data, size);
    if (data == NULL)
        return NULL;
    memory->data = data;
    memory->size = size;
    return data;
}

/* Find strides by which an array has another shape, without copying: 0 where there are none. Axes
   that are one after the other in memory are taken together and divided anew. */
HIDDEN int numba_attempt_nocopy_reshape(intptr_t n, const intptr_t *shape, const intptr_t *strides,
                                        intptr_t n_new, const intptr_t *new_shape,
                                        intptr_t *new_strides, intptr_t item_size, int by_columns)
{
    intptr_t kept_shape[32], kept_strides[32], n_kept = 0, n_items = 1, n_new_items = 1;
    if (n > 32)
        return 0;
    for (intptr_t i = 0; i < n; i++)
        if (shape[i] != 1) {
            kept_shape[n_kept] = shape[i];
            kept_strides[n_kept++] = strides[i];
            n_items *= shape[i];
        }
    for (intptr_t i = 0; i < n_new; i++) {
        new_strides[i] = item_size;
        n_new_items *= new_shape[i];
    }
    if (n_items != n_new_items || n_items == 0)
        return n_items == n_new_items;
    intptr_t from = 0, to = 0, step = item_size;
    while (from < n_kept && to < n_new) {
        intptr_t end = from + 1, new_end = to + 1;
        intptr_t size = kept_shape[from], new_size = new_shape[to];
        while (size != new_size) {
            if (size < new_size)
                size *= kept_shape[end++];
            else
                new_size *= new_shape[new_end++];
        }
        for (intptr_t i = from; i < end - 1; i++)
            if (by_columns ? kept_strides[i + 1] != kept_shape[i] * kept_strides[i]
                           : kept_strides[i] != kept_shape[i + 1] * kept_strides[i + 1])
                return 0;
        if (by_columns) {
            step = kept_strides[from];
            for (intptr_t i = to; i < new_end; step *= new_shape[i++])
                new_strides[i] = step;
        } else {
            step = kept_strides[end - 1];
            for (intptr_t i = new_end; i-- > to; step *= new_shape[i])
                new_strides[i] = step;
            step = new_strides[new_end - 1];
        }
        from = end;
        to = new_end;
    }
    /* What is left of the new shape is 1. */
    for (; to < n_new; to++)
        new_strides[to] = step;
    return 1;
}

static void let_go(PyObject *capsule)
{
    Memory *memory = PyCapsule_GetPointer(capsule, NULL);
    if (atomic_fetch_sub(&memory->n_references, 1) == 1)
        NRT_MemInfo_call_dtor(memory);
}

/* Arguments */

static int number(PyObject *given, char kind, int size, int64_t *slot)
{
    *slot = 0;
    if (kind == 'b') {
        if (PyBool_Check(given))
            *slot = given == Py_True;
        else if (PyArray_IsScalar(given, Bool))
            *slot = PyArrayScalar_VAL(given, Bool) != 0;
        else
            return 0;
        return 1;
    }
    if (PyFloat_Check(given)) { /* NumPy's double is one. */
        double value = PyFloat_AS_DOUBLE(given);
        memcpy(slot, &value, sizeof value);
        return kind == 'f' && size == 8;
    }
    if (PyLong_CheckExact(given)) {
        int too_large = 0;
        if (kind != 'i' || size != 8)
            return 0;
        *slot = PyLong_AsLongLongAndOverflow(given, &too_large);
        return !too_large;
    }
    if (!PyArray_IsScalar(given, Number))
        return 0;
    PyArray_Descr *type = PyArray_DescrFromScalar(given);
    if (type == NULL) {
        PyErr_Clear();
        return 0;
    }
    int alike = type->kind == kind && PyDataType_ELSIZE(type) == size;
    Py_DECREF(type);
    if (alike)
        PyArray_ScalarAsCtype(given, slot);
    return alike;
}

static int array(PyObject *given, const char *what, int64_t **slot)
{
    if (!PyArray_Check(given))
        return 0;
    PyArrayObject *one = (PyArrayObject *)given;
    PyArray_Descr *type = PyArray_DESCR(one);
    int n = PyArray_NDIM(one);
    int flags = PyArray_FLAGS(one);
    char layout = flags & NPY_ARRAY_C_CONTIGUOUS ? 'C' : flags & NPY_ARRAY_F_CONTIGUOUS ? 'F' : 'A';
    if (type->kind != what[0] || PyDataType_ELSIZE(type) != what[1] - '0' || n != what[2] - '0' ||
        layout != what[3] || !(flags & NPY_ARRAY_ALIGNED) || !PyArray_ISNOTSWAPPED(one) ||
        (what[4] == 'w' && !(flags & NPY_ARRAY_WRITEABLE)))
        return 0;
    int64_t *into = *slot;
    /* What owns the data is kept alive by the caller. */
    *into++ = 0;
    *into++ = 0;
    *into++ = PyArray_SIZE(one);
    *into++ = PyDataType_ELSIZE(type);
    *into++ = (int64_t)(intptr_t)PyArray_DATA(one);
    for (int i = 0; i < n; i++)
        *into++ = PyArray_DIM(one, i);
    for (int i = 0; i < n; i++)
        *into++ = PyArray_STRIDE(one, i);
    *slot = into;
    return 1;
}

/* Put an argument into slots; give what describes the next one, NULL where it is not as described. */
static const char *put(PyObject *given, const char *what, PyObject *classes, int64_t **slot)
{
    if (*what == 'A')
        return array(given, what + 1, slot) ? what + 6 : NULL;
    if (*what == 'S')
        return number(given, what[1], what[2] - '0', (*slot)++) ? what + 3 : NULL;
    /* A tuple */
    Py_ssize_t n = what[1] - '0', class = what[2] - '0';
    PyTypeObject *type = class ? (PyTypeObject *)PyTuple_GET_ITEM(classes, class - 1) : &PyTuple_Type;
    if (Py_TYPE(given) != type || PyTuple_GET_SIZE(given) != n)
        return NULL;
    what += 3;
    for (Py_ssize_t i = 0; i < n && what != NULL; i++)
        what = put(PyTuple_GET_ITEM(given, i), what, classes, slot);
    return what;
}

/* Results */

static size_t alignment(const char **what)
{
    const char *one = *what;
    if (*one != 'T') {
        *what += *one == 'A' ? 6 : 3;
        return *one == 'A' ? 8 : one[2] - '0';
    }
    size_t most = 1;
    *what += 3;
    for (int i = 0; i < one[1] - '0'; i++) {
        size_t align = alignment(what);
        most = align > most ? align : most;
    }
    return most;
}

static int type_number(char kind, int size)
{
    if (kind == 'f')
        return size == 4 ? NPY_FLOAT32 : NPY_FLOAT64;
    if (kind == 'b')
        return NPY_BOOL;
    int i = size == 1 ? 0 : size == 2 ? 1 : size == 4 ? 2 : 3;
    static const int of_signed[] = {NPY_INT8, NPY_INT16, NPY_INT32, NPY_INT64};
    static const int of_unsigned[] = {NPY_UINT8, NPY_UINT16, NPY_UINT32, NPY_UINT64};
    return kind == 'i' ? of_signed[i] : of_unsigned[i];
}

static PyObject *number_of(const char *from, char kind, int size)
{
    union {
        int8_t i1; int16_t i2; int32_t i4; int64_t i8;
        uint8_t u1; uint16_t u2; uint32_t u4; uint64_t u8;
        float f4; double f8;
    } v;
    memcpy(&v, from, size);
    switch (kind) {
    case 'b':
        return PyBool_FromLong(v.u1 & 1);
    case 'f':
        return PyFloat_FromDouble(size == 4 ? v.f4 : v.f8);
    case 'i':
        return PyLong_FromLongLong(size == 1 ? v.i1 : size == 2 ? v.i2 : size == 4 ? v.i4 : v.i8);
    default:
        return PyLong_FromUnsignedLongLong(
            size == 1 ? v.u1 : size == 2 ? v.u2 : size == 4 ? v.u4 : v.u8);
    }
}

/* Make an array of what numba has of one; `owners` are kept alive where its data is an argument's. */
static PyObject *array_of(const char *from, const char *what, PyObject *owners)
{
    struct {
        Memory *memory;
        PyObject *parent;
        int64_t n_items, item_size;
        char *data;
    } one;
    npy_intp shape[10], strides[10];
    int n = what[2] - '0';
    memcpy(&one, from, sizeof one);
    memcpy(shape, from + sizeof one, n * sizeof *shape);
    memcpy(strides, from + sizeof one + n * sizeof *shape, n * sizeof *strides);
    PyObject *base = one.memory != NULL ? PyCapsule_New(one.memory, NULL, let_go) : Py_NewRef(owners);
    PyArray_Descr *type = PyArray_DescrFromType(type_number(what[0], what[1] - '0'));
    int flags = what[4] == 'w' ? NPY_ARRAY_WRITEABLE : 0;
    PyObject *made =
        PyArray_NewFromDescr(&PyArray_Type, type, n, shape, strides, one.data, flags, NULL);
    if (made == NULL || base == NULL || PyArray_SetBaseObject((PyArrayObject *)made, base) < 0) {
        Py_XDECREF(made);
        return NULL;
    }
    PyArray_UpdateFlags((PyArrayObject *)made, NPY_ARRAY_UPDATE_ALL);
    return made;
}

static PyObject *object_of(const char **from, const char **what, PyObject *classes, PyObject *owners)
{
    const char *one = *what;
    const char *next = one;
    size_t align = alignment(&next);
    *from += (align - (uintptr_t)*from % align) % align;
    if (*one != 'T') {
        const char *start = *from;
        *what = next;
        if (*one == 'A') {
            *from += 8 * (5 + 2 * (one[3] - '0'));
            return array_of(start, one + 1, owners);
        }
        *from += one[2] - '0';
        return number_of(start, one[1], one[2] - '0');
    }
    Py_ssize_t n = one[1] - '0', class = one[2] - '0';
    PyObject *made = PyTuple_New(n);
    *what += 3;
    for (Py_ssize_t i = 0; i < n; i++) {
        /* All are made whatever fails: each holds memory. */
        PyObject *member = object_of(from, what, classes, owners);
        if (member == NULL)
            Py_CLEAR(made);
        if (made != NULL)
            PyTuple_SET_ITEM(made, i, member);
        else
            Py_XDECREF(member);
    }
    *from += (align - (uintptr_t)*from % align) % align;
    if (made == NULL || class == 0)
        return made;
    PyObject *named = PyObject_CallObject(PyTuple_GET_ITEM(classes, class - 1), made);
    Py_DECREF(made);
    return named;
}

/* An error that compiled code raised: pickled, with its arguments. */
static PyObject *failed(int32_t status, void *error)
{
    struct {
        const char *pickled;
        int32_t n_bytes;
    } *one = error;
    PyObject *pickle = NULL, *told = NULL, *made = NULL;
    if (status > 0 && one != NULL && (pickle = PyImport_ImportModule("pickle")) != NULL)
        told = PyObject_CallMethod(pickle, "loads", "y#", one->pickled, (Py_ssize_t)one->n_bytes);
    if (told != NULL && PyTuple_Check(told) && PyTuple_GET_SIZE(told) > 1) {
        PyObject *type = PyTuple_GET_ITEM(told, 0), *arguments = PyTuple_GET_ITEM(told, 1);
        made = PyObject_CallObject(type, PyTuple_Check(arguments) ? arguments : NULL);
        if (made != NULL)
            PyErr_SetObject(type, made);
    }
    Py_XDECREF(pickle);
    Py_XDECREF(told);
    Py_XDECREF(made);
    if (!PyErr_Occurred())
        PyErr_Format(PyExc_RuntimeError, "a kernel failed with status %d", (int)status);
    return NULL;
}

/* What a kernel was compiled to, for each kind of arguments; others go to another callable. */

typedef struct {
    PyObject_HEAD
    vectorcallfunc call;
    PyObject *otherwise;
    PyObject *classes; /* a tuple of tuples */
    Py_ssize_t n;
    const Entry *entries[];
} Compiled;

static PyObject *run(const Entry *entry, int64_t *slots, PyObject *classes, PyObject *const *given)
{
    alignas(16) char result[N_RESULT];
    void *error = NULL;
    int32_t status;
    Py_BEGIN_ALLOW_THREADS
    status = entry->run(result, &error, slots);
    Py_END_ALLOW_THREADS
    if (status != 0)
        return failed(status, error);
    const char *what = entry->result, *from = result;
    if (*what == 'N')
        Py_RETURN_NONE;
    PyObject *owners = PyTuple_New(entry->arguments[0] - '0');
    if (owners == NULL)
        return NULL;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(owners); i++)
        PyTuple_SET_ITEM(owners, i, Py_NewRef(given[i]));
    PyObject *made = object_of(&from, &what, classes, owners);
    Py_DECREF(owners);
    return made;
}

static PyObject *call(PyObject *self, PyObject *const *given, size_t n_flagged, PyObject *names)
{
    Compiled *compiled = (Compiled *)self;
    Py_ssize_t n = PyVectorcall_NARGS(n_flagged);
    for (Py_ssize_t i = 0; i < compiled->n && names == NULL; i++) {
        const Entry *entry = compiled->entries[i];
        PyObject *classes = PyTuple_GET_ITEM(compiled->classes, i);
        int64_t slots[N_SLOTS], *slot = slots;
        const char *what = entry->arguments + 1;
        if (entry->arguments[0] - '0' != n)
            continue;
        for (Py_ssize_t j = 0; j < n && what != NULL; j++)
            what = put(given[j], what, classes, &slot);
        if (what != NULL)
            return run(entry, slots, classes, given);
    }
    return PyObject_Vectorcall(compiled->otherwise, given, n_flagged, names);
}

static void forget(PyObject *self)
{
    Py_XDECREF(((Compiled *)self)->otherwise);
    Py_XDECREF(((Compiled *)self)->classes);
    Py_TYPE(self)->tp_free(self);
}

static PyTypeObject CompiledType = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "likewise.ahead.Compiled",
    .tp_basicsize = sizeof(Compiled),
    .tp_itemsize = sizeof(Entry *),
    .tp_dealloc = forget,
    .tp_vectorcall_offset = offsetof(Compiled, call),
    .tp_call = PyVectorcall_Call,
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL,
    .tp_doc = "A kernel that was compiled for some kinds of arguments.",
};

/* compiled([(number of an entry, its classes), …], otherwise) */
static PyObject *compiled_of(PyObject *Py_UNUSED(module), PyObject *arguments)
{
    PyObject *chosen, *otherwise;
    if (!PyArg_ParseTuple(arguments, "O!O", &PyList_Type, &chosen, &otherwise))
        return NULL;
    Py_ssize_t n = PyList_GET_SIZE(chosen);
    Compiled *made = PyObject_NewVar(Compiled, &CompiledType, n);
    if (made == NULL)
        return NULL;
    made->call = call;
    made->n = n;
    made->otherwise = Py_NewRef(otherwise);
    made->classes = PyTuple_New(n);
    for (Py_ssize_t i = 0; i < n && made->classes != NULL; i++) {
        Py_ssize_t entry;
        PyObject *classes;
        if (!PyArg_ParseTuple(PyList_GET_ITEM(chosen, i), "nO!", &entry, &PyTuple_Type, &classes) ||
            entry < 0 || entry >= n_entries) {
            Py_DECREF(made);
            return NULL;
        }
        made->entries[i] = &entries[entry];
        PyTuple_SET_ITEM(made->classes, i, Py_NewRef(classes));
    }
    if (made->classes == NULL)
        Py_CLEAR(made);
    return (PyObject *)made;
}

static PyMethodDef methods[] = {
    {"compiled", compiled_of, METH_VARARGS, "Give a callable of entries, and of what else to call."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "_ahead", "Kernels compiled ahead.", -1, methods, NULL, NULL, NULL, NULL,
};

static int is_supported(void)
{
#if defined(__x86_64__)
    if (strcmp(target, "x86-64-v3") == 0) {
        __builtin_cpu_init();
        return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
               __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2") &&
               __builtin_cpu_supports("f16c") && __builtin_cpu_supports("lzcnt") &&
               __builtin_cpu_supports("movbe");
    }
#endif
    return 1;
}

PyMODINIT_FUNC PyInit__ahead(void)
{
    import_array();
    if (PyType_Ready(&CompiledType) < 0)
        return NULL;
    PyObject *module = PyModule_Create(&definition);
    PyObject *table = PyList_New(n_entries);
    if (module == NULL || table == NULL)
        return NULL;
    for (int i = 0; i < n_entries; i++) {
        const Entry *one = &entries[i];
        PyObject *row = Py_BuildValue("(sss)", one->name, one->content, one->classes);
        if (row == NULL)
            return NULL;
        PyList_SET_ITEM(table, i, row);
    }
    if (PyModule_AddObject(module, "table", table) < 0 ||
        PyModule_AddStringConstant(module, "target", target) < 0 ||
        PyModule_AddObject(module, "supported", PyBool_FromLong(is_supported())) < 0)
        return NULL;
    return module;
}
